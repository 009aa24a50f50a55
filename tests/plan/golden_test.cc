// Which main kernel each cell of the benchmark matrix gets on sm_120, by its canonical text: bf16, 32K tokens, width 2048.
#include <gtest/gtest.h>
#include "plan/plan.h"
#include "tests/problem/dense.h"

namespace speedlight {
namespace {

struct Cell {
  i64 dim, seqlen;
  bool causal;
  const char *forward, *backward;
};

constexpr const char* fwd64 = "fwd.bf16.d64.none.m128n64w4.s16x2.bulk.overlap.b3";
constexpr const char* fwd64_long = "fwd.bf16.d64.none.m256n128w8.s32x3.bulk.overlap.b1";
constexpr const char* fwd64_band = "fwd.bf16.d64.band.m128n64w4.s16x2.bulk.overlap.b3";
constexpr const char* fwd64_band_long = "fwd.bf16.d64.band.m256n128w8.s32x3.bulk.overlap.b1";
constexpr const char* fwd128 = "fwd.bf16.d128.none.m128n32w4.s16x3.bulk.b2";
constexpr const char* fwd128_long = "fwd.bf16.d128.none.m256n64w8.s16x3.bulk.b1";
constexpr const char* fwd128_band = "fwd.bf16.d128.band.m128n32w4.s16x3.bulk.b2";
constexpr const char* fwd128_band_long = "fwd.bf16.d128.band.m256n64w8.s16x3.bulk.b1";
// A 64 (q) x 128 (kv) tile with P and dS in registers; D128: V in registers beyond 192 rows of a walk, in shared memory up to there (its own test).
// Short rows add in order and finish dQ.
constexpr const char* bwd64 = "bwd.bf16.d64.none.run_to_run.single.m64n128w4.c2.q1o1.v_registers.bulk_loads.finish.dq2x2.v4.stmatrix.b2";
constexpr const char* bwd64_long = "bwd.bf16.d64.none.single.m64n128w4.c2.q1o1.v_registers.bulk_loads.dq2x2.v4.stmatrix.b2";
constexpr const char* bwd64_band =
    "bwd.bf16.d64.band.run_to_run.single.m64n128w4.c2.q1o1.v_registers.bulk_loads.finish.dq2x2.v4.stmatrix.b2";
constexpr const char* bwd64_band_long = "bwd.bf16.d64.band.single.m64n128w4.c2.q1o1.v_registers.bulk_loads.dq2x2.v4.stmatrix.b2";
constexpr const char* bwd128 = "bwd.bf16.d128.none.run_to_run.split.m32n128w8.c1.q2o2.v_registers.bulk_loads.finish.dq1x4.v4.stmatrix.b1";
constexpr const char* bwd128_long = "bwd.bf16.d128.none.split.m32n128w8.c1.q2o2.v_registers.bulk_loads.dq1x4.v4.stmatrix.b1";
constexpr const char* bwd128_band =
    "bwd.bf16.d128.band.run_to_run.split.m32n128w8.c1.q2o2.v_registers.bulk_loads.finish.dq1x4.v4.stmatrix.b1";
constexpr const char* bwd128_band_long = "bwd.bf16.d128.band.split.m32n128w8.c1.q2o2.v_registers.bulk_loads.dq1x4.v4.stmatrix.b1";

constexpr Cell cells[] = {
    {64, 512, false, fwd64, bwd64},
    {64, 512, true, fwd64_band, bwd64_band},
    {64, 2048, false, fwd64_long, bwd64_long},
    {64, 2048, true, fwd64_band, bwd64_band_long},
    {64, 8192, false, fwd64_long, bwd64_long},
    {64, 8192, true, fwd64_band_long, bwd64_band_long},
    {128, 512, false, fwd128, bwd128},
    {128, 512, true, fwd128_band, bwd128_band},
    {128, 2048, false, fwd128_long, bwd128_long},
    {128, 2048, true, fwd128_band_long, bwd128_band_long},
    {128, 8192, false, fwd128_long, bwd128_long},
    {128, 8192, true, fwd128_band_long, bwd128_band_long},
};

Problem problem_of(const Cell& cell) {
  const i64 heads = 2048 / cell.dim;
  Problem p = dense(32768 / cell.seqlen, heads, heads, cell.seqlen, cell.seqlen, cell.dim);
  if (cell.causal) p.window = causal;
  return p;
}

std::string main_text(const Plan& plan, Step step) {
  for (const PlannedLaunch& launch : plan.launches)
    if (launch.step == step) return to_text(launch.config);
  return "none";
}

TEST(Golden, MatrixOnSm120) {
  for (const char* card : {"rtx5090", "rtxpro6000"})
    for (const Cell& cell : cells) {
      const Problem p = problem_of(cell);
      const std::string at =
          std::string(card) + " d" + std::to_string(cell.dim) + " s" + std::to_string(cell.seqlen) + (cell.causal ? " causal" : "");
      EXPECT_EQ(main_text(plan_forward(p, *find_card(card)), Step::forward), cell.forward) << at;
      EXPECT_EQ(main_text(plan_backward(p, *find_card(card)), Step::backward), cell.backward) << at;
    }
}

TEST(Golden, ShortD128RowsOnSm120KeepVInSharedMemory) {
  for (const i64 seqlen : {160, 192, 224}) {
    const std::string text = main_text(plan_backward(dense(256, 16, 16, seqlen, seqlen, 128), *find_card("rtx5090")), Step::backward);
    EXPECT_EQ(text.find("v_registers") == std::string::npos, seqlen <= 192) << text;
  }
}

TEST(Golden, LongD128RowsFinishDqWhereAnOrderIsAskedFor) {
  for (const char* card : {"rtx5090", "h200"})
    for (const int dim : {64, 128})
      for (const Determinism how : {Determinism::none, Determinism::run_to_run, Determinism::batch_invariant}) {
        Problem p = dense(4, 2048 / dim, 2048 / dim, 8192, 8192, dim);
        p.determinism = how;
        const std::string text = main_text(plan_backward(p, *find_card(card)), Step::backward);
        EXPECT_EQ(text.find(".run_to_run.") != std::string::npos, how != Determinism::none) << text;
        EXPECT_EQ(text.find(".finish.") != std::string::npos, how != Determinism::none && dim == 128) << text;
      }
}

TEST(Golden, HeadsAreGroupedOnlyOverLongMaskedSequences) {
  const auto group = [](i64 batch, i64 heads, i64 seqlen, Window window) {
    Problem p = dense(batch, heads, heads, seqlen, seqlen, 128);
    p.window = window;
    return plan_forward(p, *find_card("rtx5090")).geometry.head_group;
  };
  EXPECT_EQ(group(4, 16, 8192, causal), 8);
  EXPECT_EQ(group(4, 16, 8192, {}), 1);
  EXPECT_EQ(group(64, 16, 512, causal), 1);
  EXPECT_EQ(group(1, 15, 8192, causal), 5);
  EXPECT_EQ(group(1, 11, 8192, causal), 1);
  EXPECT_EQ(group(4, 16, 8192, {500, 0}), 1) << "a narrow window is short work";
}

}  // namespace
}  // namespace speedlight
