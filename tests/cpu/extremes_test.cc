// Inputs at which attention code of the field is known to go wrong; the numbers are rows of the list of fault cases.
#include <gtest/gtest.h>

#include "tests/cpu/case.h"

namespace speedlight {
namespace {

using test::Case;
using test::Options;

bool all_finite(test::Buffer& b) {
  bool finite = true;
  b.each([&](i64 n, i64 row, i64 h, i64 d) { finite = finite && std::isfinite(b.get(n, row, h, d)); });
  return finite;
}

bool gradients_finite(Case& c) { return all_finite(c.dq) && all_finite(c.dk) && all_finite(c.dv); }

// B01: queries line up with the last keys.
TEST(Extremes, CausalIsAlignedToTheBottomRight) {
  for (const auto& [rows, keys] : std::vector<std::pair<i64, i64>>{{113, 203}, {1, 300}, {64, 192}, {128, 200}, {127, 128}})
    EXPECT_TRUE(Case({.seqlen_q = rows, .seqlen_k = keys, .window = test::causal}).correct());
}

// B02, B05, B17: rows without keys.
TEST(Extremes, RowsWithoutKeys) {
  for (const auto& [rows, keys, window, dead] : std::vector<std::tuple<i64, i64, Window, i64>>{
           {1024, 512, test::causal, 512}, {300, 17, test::causal, 283}, {129, 1, test::causal, 128}, {129, 32, {32, 64}, 33}}) {
    Case c({.batch = 1, .heads_q = 2, .heads_kv = 1, .seqlen_q = rows, .seqlen_k = keys, .window = window, .dlse = true});
    EXPECT_TRUE(c.correct());
    for (i64 row = 0; row < rows; ++row) {
      ASSERT_EQ(c.lse[size_t(row)] == -INFINITY, row < dead) << c.describe() << " row " << row;
      if (row < dead) {
        ASSERT_EQ(c.out.get(0, row, 1, 3), 0);
        ASSERT_EQ(c.dq.get(0, row, 1, 3), 0);
      }
    }
  }
}

// B10: the difference to the maximum must be exactly 0 for the maximum itself, however large.
TEST(Extremes, HugeEqualLogits) {
  for (const i64 keys : {1, 2, 64, 200})
    for (const i64 dim : {64, 128})
      for (const float sign : {1.0f, -1.0f}) {
        Case c({.batch = 1, .heads_q = 1, .heads_kv = 1, .seqlen_q = 1, .seqlen_k = keys, .head_dim = dim, .value_dim = dim});
        c.q.fill([] { return 133120.0f; });
        c.k.fill([&] { return sign * 133120.0f; });
        cpu::run_forward(c.p, c.pointers(), cpu::kernels());
        const auto exact = reference::compute(c.p, c.pointers(), false, reference::Arithmetic::float64);
        const auto plain = reference::compute(c.p, c.pointers(), false, reference::Arithmetic::plain);
        const auto result = reference::compare(c.p, c.pointers(), exact, plain, false);
        EXPECT_TRUE(result.pass) << result.text();
        c.v.fill([] { return 1.0f; });
        cpu::run_forward(c.p, c.pointers(), cpu::kernels());
        EXPECT_EQ(c.out.get(0, 0, 0, 0), 1.0f);
      }
}

// B11: no finite stand-in for minus infinity.
TEST(Extremes, RowsOfVeryNegativeLogits) {
  for (const DType dtype : {DType::bf16, DType::fp16}) {
    Case c({.batch = 1,
            .heads_q = 2,
            .heads_kv = 1,
            .seqlen_q = 64,
            .seqlen_k = 300,
            .head_dim = 128,
            .value_dim = 128,
            .dtype = dtype,
            .scale = 0.08838834764f});
    Case shifted = c;
    c.q.each([&](i64 b, i64 row, i64 h, i64 d) {
      if (d == 0) c.q.set(b, row, h, d, 448), shifted.q.set(b, row, h, d, 448);
    });
    c.k.each([&](i64 b, i64 row, i64 h, i64 d) {
      if (d == 0) c.k.set(b, row, h, d, -548), shifted.k.set(b, row, h, d, 0);
    });
    EXPECT_TRUE(c.correct());
    shifted.run();
    c.out.each([&](i64 b, i64 row, i64 h, i64 d) { ASSERT_NEAR(c.out.get(b, row, h, d), shifted.out.get(b, row, h, d), 1e-2); });
    EXPECT_NEAR(c.lse[0], -21700, 50);
  }
}

// B13: an LSE below -ln(FLT_MAX), lengths that leave a tail.
TEST(Extremes, TinyLseWithTails) {
  for (const i64 length : {64, 65, 127, 192, 320, 704})
    for (const bool masked : {false, true}) {
      Case c({.batch = 1, .heads_q = 1, .heads_kv = 1, .seqlen_q = length, .seqlen_k = length, .window = masked ? test::causal : Window{}});
      const auto shape = [](test::Buffer& tensor, float first) {
        tensor.each([&](i64 b, i64 row, i64 h, i64 d) { tensor.set(b, row, h, d, d == 0 ? first : 0.1f * tensor.get(b, row, h, d)); });
      };
      shape(c.q, 1);
      shape(c.k, -960);
      EXPECT_TRUE(c.correct());
      EXPECT_TRUE(gradients_finite(c));
      EXPECT_LT(c.lse[0], -110);
    }
}

// B14: the softmax of one key has no slope.
TEST(Extremes, OneQueryOneKey) {
  for (int seed = 0; seed < 20; ++seed)
    for (const DType dtype : {DType::fp16, DType::bf16})
      for (const i64 dim : {8, 64, 128}) {
        Case c({.batch = seed % 2 ? 7 : 1,
                .heads_q = 1,
                .heads_kv = 1,
                .seqlen_q = 1,
                .seqlen_k = 1,
                .head_dim = dim,
                .value_dim = dim,
                .dtype = dtype,
                .seed = seed});
        for (test::Buffer* tensor : {&c.q, &c.k, &c.v})
          tensor->each([&](i64 b, i64 row, i64 h, i64 d) { tensor->set(b, row, h, d, 3 * tensor->get(b, row, h, d)); });
        c.run();
        c.dq.each([&](i64 b, i64 row, i64 h, i64 d) {
          // delta comes from the output as it was rounded, so the slope is only as small as that.
          ASSERT_LE(std::abs(c.dq.get(b, row, h, d)), dtype == DType::fp16 ? 0.05 : 0.5);
          ASSERT_EQ(c.dv.get(b, row, h, d), c.dout.get(b, row, h, d));
        });
        EXPECT_TRUE(c.correct());
      }
}

// B19: natural logarithm, of the scaled scores.
TEST(Extremes, LseIsANaturalLogarithm) {
  for (const float scale : {0.125f, 0.37f})
    for (const i64 dim : {32, 64, 128}) {
      Case c({.batch = 1,
              .heads_q = 1,
              .heads_kv = 1,
              .seqlen_q = 256,
              .seqlen_k = 256,
              .head_dim = dim,
              .value_dim = dim,
              .dtype = DType::fp16,
              .scale = scale});
      c.run();
      const auto exact = reference::compute(c.p, c.pointers(), false, reference::Arithmetic::float64);
      for (size_t i = 0; i < c.lse.size(); ++i) ASSERT_NEAR(c.lse[i] / exact.lse[i], 1, 1e-4);
    }
}

// B20: a loss of the LSE alone, and of both.
TEST(Extremes, GradientThroughTheLse) {
  for (const auto& [rows, keys] : std::vector<std::pair<i64, i64>>{{100, 130}, {130, 100}}) {
    Case c({.seqlen_q = rows, .seqlen_k = keys, .window = test::causal, .dlse = true});
    EXPECT_TRUE(c.correct());
    c.dout.fill([] { return 0.0f; });
    EXPECT_TRUE(c.correct());
    EXPECT_TRUE(gradients_finite(c));
    c.dv.each([&](i64 b, i64 row, i64 h, i64 d) { ASSERT_EQ(c.dv.get(b, row, h, d), 0); });
  }
}

// V of ones gives exactly one.
TEST(Extremes, RowsOfPSumToOne) {
  Case c({.seqlen_q = 200, .seqlen_k = 333, .scale = 1.0f});
  c.v.fill([] { return 1.0f; });
  c.run();
  c.out.each([&](i64 b, i64 row, i64 h, i64 d) { ASSERT_EQ(c.out.get(b, row, h, d), 1.0f); });
}

// Finite values outside of a row's band, as large as they come, do not reach it.
TEST(Extremes, ValuesOutsideOfTheBand) {
  Case c({.batch = 1, .heads_q = 1, .heads_kv = 1, .seqlen_q = 100, .seqlen_k = 100, .window = test::causal}), plain = c;
  c.k.each([&](i64 b, i64 row, i64 h, i64 d) {
    if (row >= 60) c.k.set(b, row, h, d, 1e30f), c.v.set(b, row, h, d, -3e38f);
  });
  cpu::run_forward(c.p, c.pointers(), cpu::kernels());
  cpu::run_forward(plain.p, plain.pointers(), cpu::kernels());
  cpu::run_backward(c.p, c.pointers(), cpu::kernels());
  cpu::run_backward(plain.p, plain.pointers(), cpu::kernels());
  for (i64 row = 0; row < 60; ++row)
    for (i64 d = 0; d < 64; ++d) {
      ASSERT_EQ(c.out.get(0, row, 0, d), plain.out.get(0, row, 0, d));
      ASSERT_EQ(c.dq.get(0, row, 0, d), plain.dq.get(0, row, 0, d));
    }
}

// NaN in one head stays there.
TEST(Extremes, NanStaysInItsHead) {
  Case c({.seqlen_q = 100, .seqlen_k = 100}), clean = c;
  c.q.set(0, 5, 1, 7, std::nanf(""));
  c.run();
  clean.run();
  EXPECT_TRUE(std::isnan(c.out.get(0, 5, 1, 0)));
  c.out.each([&](i64 b, i64 row, i64 h, i64 d) {
    if (b != 0 || h != 1) {
      ASSERT_EQ(c.out.get(b, row, h, d), clean.out.get(b, row, h, d));
    }
  });
}

}  // namespace
}  // namespace speedlight
