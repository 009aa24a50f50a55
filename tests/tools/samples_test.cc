// The sampled rows that bench and tune judge kernels by, against the CPU backend: right answers pass, small damage does not.
#include "tools/samples.h"
#include <gtest/gtest.h>
#include "tools/measure.h"
#include "tools/problem_options.h"

namespace speedlight::cli {
namespace {

void judge(const Problem& problem, DType dtype) {
  Machine machine(Target{.device = "cpu"});
  Cell cell{"problem", problem};
  cell.problem.dtype = dtype;
  const Problem& p = cell.problem;
  Data data(machine, {&cell, 1});
  data.poison();
  const Pointers at = data.pointers(nullptr, 0);
  machine.run(p, Pass::forward, at);
  machine.run(p, Pass::backward, at);
  EXPECT_LE(worst_of_entries(machine, p, at, Pass::forward), sample_bound);
  EXPECT_LE(worst_of_entries(machine, p, at, Pass::backward), sample_bound);

  const Samples samples(machine, p, at, 0, 0, 6, Pass::backward);
  const i64 rows_q = p.batch * p.seqlen_q * p.heads_q * p.head_dim * 2, rows_k = p.batch * p.seqlen_k * p.heads_kv * p.head_dim * 2;
  for (const auto& [tensor, bytes] : {std::pair{at.out, rows_q}, {at.dq, rows_q}, {at.dk, rows_k}, {at.dv, rows_k}}) {
    std::vector<u8> kept(size_t(bytes), 0);
    machine.read(kept.data(), tensor, bytes);
    for (const u8 damage : {u8(0), u8(0xff)}) {
      machine.fill(tensor, damage, bytes);
      EXPECT_GT(samples.worst(machine, at), sample_bound);
    }
    machine.write(tensor, kept.data(), bytes);
  }
  EXPECT_LE(samples.worst(machine, at), sample_bound);
  machine.fill(at.lse, 0, p.batch * p.heads_q * p.seqlen_q * 4);
  EXPECT_GT(samples.worst(machine, at), sample_bound);
}

TEST(Samples, JudgeCausal) { judge(dense_problem(DType::bf16, 2, 2, 2, 200, 200, 64, true), DType::bf16); }
TEST(Samples, JudgeGroupedHeads) { judge(dense_problem(DType::fp16, 1, 4, 2, 150, 300, 128, false), DType::fp16); }

}  // namespace
}  // namespace speedlight::cli
