#include <gtest/gtest.h>

#include "cpu/thread_pool.h"
#include "tests/cpu/case.h"

namespace speedlight {
namespace {

using test::Case;
using test::Options;
using test::Strides;

// Lengths around the tile of 128, and the degenerate ones; equal and unequal; causal and not.
TEST(CpuBackend, LengthsAroundTheTile) {
  int seed = 0;
  for (const auto& [rows, keys] : std::vector<std::pair<i64, i64>>{{1, 1},
                                                                   {1, 300},
                                                                   {7, 1},
                                                                   {127, 128},
                                                                   {128, 128},
                                                                   {129, 129},
                                                                   {128, 200},
                                                                   {113, 203},
                                                                   {64, 192},
                                                                   {300, 17},
                                                                   {257, 384},
                                                                   {400, 255},
                                                                   {2, 129},
                                                                   {31, 33}})
    for (const bool masked : {false, true})
      for (const DType dtype : {DType::fp16, DType::bf16}) {
        Options o{.batch = 1,
                  .heads_q = 2,
                  .heads_kv = 1,
                  .seqlen_q = rows,
                  .seqlen_k = keys,
                  .dtype = dtype,
                  .dlse = seed % 2 == 0,
                  .seed = ++seed};
        if (masked) o.window = test::causal;
        if (seed % 3 == 0) o.head_dim = o.value_dim = 128;
        EXPECT_TRUE(Case(o).correct());
      }
}

TEST(CpuBackend, EmptyProblems) {
  EXPECT_TRUE(Case({.batch = 0}).correct());
  EXPECT_TRUE(Case({.heads_q = 0, .heads_kv = 0}).correct());
  EXPECT_TRUE(Case({.seqlen_q = 0}).correct());
  EXPECT_TRUE(Case({.seqlen_q = 0, .window = test::causal}).correct());
  EXPECT_TRUE(Case({.seqlen_k = 0}).correct());
  EXPECT_TRUE(Case({.seqlen_q = 0, .seqlen_k = 0}).correct());
}

TEST(CpuBackend, KeysThatNoQueryUsesGetZeroGradients) {
  Case c({.seqlen_q = 0, .seqlen_k = 200});
  c.run();
  c.dk.each([&](i64 b, i64 row, i64 h, i64 d) { ASSERT_EQ(c.dk.get(b, row, h, d), 0); });
  c.dv.each([&](i64 b, i64 row, i64 h, i64 d) { ASSERT_EQ(c.dv.get(b, row, h, d), 0); });
}

TEST(CpuBackend, HeadGroups) {
  for (const auto& [q, kv] : std::vector<std::pair<i64, i64>>{{1, 1}, {6, 3}, {8, 1}, {5, 5}})
    EXPECT_TRUE(Case({.heads_q = q, .heads_kv = kv, .seqlen_q = 130, .seqlen_k = 150, .window = test::causal}).correct());
}

TEST(CpuBackend, AnyStrides) {
  for (const Strides strides : {Strides::padded, Strides::heads_first, Strides::odd, Strides::broadcast})
    for (const bool fp32 : {false, true}) {
      Options o{.seqlen_q = 140, .seqlen_k = 170, .window = test::causal, .dlse = true, .strides = strides};
      if (fp32) o.out = o.gradients = DType::fp32;
      EXPECT_TRUE(Case(o).correct()) << "strides " << int(strides);
    }
}

TEST(CpuBackend, OtherHeadDims) {
  for (const auto& [head, value] : std::vector<std::pair<i64, i64>>{{8, 8}, {24, 40}, {96, 96}, {192, 128}, {256, 256}})
    EXPECT_TRUE(Case({.batch = 1, .seqlen_q = 100, .seqlen_k = 140, .head_dim = head, .value_dim = value}).correct());
}

TEST(CpuBackend, Windows) {
  constexpr i64 none = Window::unlimited;
  for (const Window w : {Window{0, 0}, Window{5, 0}, Window{none, 7}, Window{3, none}, Window{130, 2}, Window{32, 64}, Window{-2, 10},
                         Window{20, -5}, Window{-5, 2}, Window{300, 300}})
    for (const auto& [rows, keys] : std::vector<std::pair<i64, i64>>{{129, 32}, {200, 300}, {300, 200}, {40, 41}})
      EXPECT_TRUE(Case({.batch = 1, .heads_q = 2, .heads_kv = 1, .seqlen_q = rows, .seqlen_k = keys, .window = w, .dlse = true}).correct());
}

TEST(CpuBackend, AnyFiniteScale) {
  for (const float scale : {0.0f, -0.125f, 0.37f, 3.0f, -2.0f, 1e-30f})
    EXPECT_TRUE(Case({.seqlen_q = 150, .seqlen_k = 140, .scale = scale, .window = test::causal, .dlse = true}).correct());
}

TEST(CpuBackend, UnwantedGradients) {
  for (int wanted = 0; wanted < 8; ++wanted)
    EXPECT_TRUE(
        Case({.seqlen_q = 60, .seqlen_k = 70, .want_dq = bool(wanted & 1), .want_dk = bool(wanted & 2), .want_dv = bool(wanted & 4)})
            .correct());
}

TEST(CpuBackend, UnwantedLse) {
  Case c({.want_lse = false});
  Pointers x = c.pointers();
  x.lse = nullptr;
  cpu::run_forward(c.p, x, cpu::kernels());
  const auto exact = reference::compute(c.p, x, false, reference::Arithmetic::float64),
             plain = reference::compute(c.p, x, false, reference::Arithmetic::plain);
  EXPECT_TRUE(reference::compare(c.p, x, exact, plain, false).pass);
}

TEST(CpuBackend, EveryInstructionSet) {
  int count = 0;
  const cpu::Kernels* const* all = cpu::available_kernels(count);
  for (int i = 0; i < count; ++i)
    for (const DType dtype : {DType::fp16, DType::bf16}) {
      EXPECT_TRUE(Case({.seqlen_q = 200, .seqlen_k = 147, .dtype = dtype, .window = test::causal, .dlse = true}).correct(*all[i]))
          << all[i]->name;
      EXPECT_TRUE(Case({.seqlen_q = 5, .seqlen_k = 131, .dtype = dtype, .scale = -1, .strides = Strides::odd}).correct(*all[i]))
          << all[i]->name;
    }
}

TEST(CpuBackend, SameBitsWhateverTheNumberOfThreads) {
  const auto bits = [](int threads) {
    cpu::set_thread_count(threads);
    Case c({.seqlen_q = 300, .seqlen_k = 400, .window = test::causal, .dlse = true});
    c.run();
    cpu::set_thread_count(0);
    return std::vector{c.out.bytes(), c.dq.bytes(), c.dk.bytes(), c.dv.bytes()};
  };
  const auto one = bits(1);
  EXPECT_EQ(one, bits(2));
  EXPECT_EQ(one, bits(7));
}

// A sequence's bits do not depend on what else is in the batch.
TEST(CpuBackend, SameBitsAloneAndInABatch) {
  Case together({.batch = 3, .seqlen_q = 150, .seqlen_k = 160}), alone({.batch = 1, .seqlen_q = 150, .seqlen_k = 160});
  for (const auto& [to, from] : {std::pair{&alone.q, &together.q}, std::pair{&alone.k, &together.k}, std::pair{&alone.v, &together.v},
                                 std::pair{&alone.dout, &together.dout}})
    to->each([&, to = to, from = from](i64, i64 row, i64 h, i64 d) { to->set(0, row, h, d, from->get(2, row, h, d)); });
  together.run();
  alone.run();
  for (const auto& [a, b] : {std::pair{&alone.out, &together.out}, std::pair{&alone.dq, &together.dq}, std::pair{&alone.dk, &together.dk},
                             std::pair{&alone.dv, &together.dv}})
    a->each([&, a = a, b = b](i64, i64 row, i64 h, i64 d) { ASSERT_EQ(a->get(0, row, h, d), b->get(2, row, h, d)); });
}

}  // namespace
}  // namespace speedlight
