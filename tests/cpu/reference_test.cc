#include "cpu/reference.h"

#include <gtest/gtest.h>

#include "tests/cpu/case.h"

namespace speedlight {
namespace {

using reference::Arithmetic;
using test::Case;
using test::Options;

// sum(dout out) + sum(dlse lse), whose gradients backward computes. Rows without keys have no LSE to speak of.
double loss(Case& c) {
  const auto values = reference::compute(c.p, c.pointers(), false, Arithmetic::float64);
  double total = 0;
  size_t i = 0;
  c.out.each([&](i64 b, i64 row, i64 h, i64 d) { total += double(c.dout.get(b, row, h, d)) * values.out[i++]; });
  for (size_t j = 0; j < c.dlse.size(); ++j)
    if (std::isfinite(values.lse[j])) total += double(c.dlse[j]) * values.lse[j];
  return total;
}

// Derivative by differences of 1/64 and 1/32, which fp16 inputs that are multiples of 1/64 can take exactly; the error is of fourth order.
double difference(Case& c, test::Buffer& tensor, i64 b, i64 row, i64 h, i64 d) {
  const float x = tensor.get(b, row, h, d), step = 1.0f / 64;
  const auto at = [&](float value) {
    tensor.set(b, row, h, d, value);
    return loss(c);
  };
  const double near = (at(x + step) - at(x - step)) / (2 * step), far = (at(x + 2 * step) - at(x - 2 * step)) / (4 * step);
  tensor.set(b, row, h, d, x);
  return (4 * near - far) / 3;
}

void check_gradients(Options o) {
  o.dtype = DType::fp16;
  Case c(o);
  for (test::Buffer* tensor : {&c.q, &c.k, &c.v}) {
    const auto quantise = [&](i64 b, i64 row, i64 h, i64 d) { tensor->set(b, row, h, d, std::round(tensor->get(b, row, h, d) * 16) / 64); };
    tensor->each(quantise);
  }
  const auto values = reference::compute(c.p, c.pointers(), true, Arithmetic::float64);
  for (const auto& [tensor, gradient] : {std::pair{&c.q, &values.dq}, std::pair{&c.k, &values.dk}, std::pair{&c.v, &values.dv}}) {
    size_t i = 0;
    tensor->each([&, tensor = tensor, gradient = gradient](i64 b, i64 row, i64 h, i64 d) {
      ASSERT_NEAR(difference(c, *tensor, b, row, h, d), (*gradient)[i], 1e-6) << c.describe() << " element " << i;
      ++i;
    });
  }
}

TEST(Reference, GradientsAgreeWithFiniteDifferences) {
  Options o{.batch = 1, .heads_q = 2, .heads_kv = 1, .seqlen_q = 3, .seqlen_k = 5, .head_dim = 4, .value_dim = 4, .scale = 0.7f};
  check_gradients(o);
  o.window = test::causal;
  check_gradients(o);
  o.dlse = true;
  check_gradients(o);
  o.seqlen_q = 6, o.seqlen_k = 4, o.value_dim = 2, o.scale = -0.4f;  // two rows without keys
  check_gradients(o);
  o.window = {1, 1};
  check_gradients(o);
}

TEST(Reference, OneKeyGivesItsValue) {
  Case c({.batch = 1, .heads_q = 1, .heads_kv = 1, .seqlen_q = 1, .seqlen_k = 1, .head_dim = 8, .value_dim = 8});
  const auto values = reference::compute(c.p, c.pointers(), true, Arithmetic::float64);
  double score = 0;
  for (i64 d = 0; d < 8; ++d) {
    EXPECT_EQ(values.out[size_t(d)], c.v.get(0, 0, 0, d));
    EXPECT_EQ(values.dv[size_t(d)], c.dout.get(0, 0, 0, d));
    EXPECT_NEAR(values.dq[size_t(d)], 0, 1e-15);
    score += double(c.q.get(0, 0, 0, d)) * c.k.get(0, 0, 0, d);
  }
  EXPECT_NEAR(values.lse[0], score * 0.125, 1e-14);
}

TEST(Reference, RowsWithoutKeys) {
  Case c({.seqlen_q = 20, .seqlen_k = 3, .window = test::causal});
  const auto values = reference::compute(c.p, c.pointers(), true, Arithmetic::float64);
  for (i64 row = 0; row < 17; ++row) {
    EXPECT_EQ(values.lse[size_t(row)], -INFINITY);
    EXPECT_EQ(values.out[size_t(row * 4 * 64)], 0);
    EXPECT_EQ(values.dq[size_t(row * 4 * 64)], 0);
  }
  EXPECT_TRUE(std::isfinite(values.lse[17]));
}

TEST(Compare, FindsWhatIsWrong) {
  Case c({.seqlen_q = 40, .seqlen_k = 30, .window = test::causal});
  ASSERT_TRUE(c.correct());
  const auto exact = reference::compute(c.p, c.pointers(), true, Arithmetic::float64);
  const auto plain = reference::compute(c.p, c.pointers(), true, Arithmetic::plain);
  const auto failing = [&](bool backward) {
    std::string names;
    for (const auto& t : reference::compare(c.p, c.pointers(), exact, plain, backward).tensors)
      if (!t.pass) names += t.tensor + " ";
    return names;
  };
  c.out.set(1, 39, 3, 5, c.out.get(1, 39, 3, 5) + 0.1f);
  EXPECT_EQ(failing(false), "out ");
  c.out.set(1, 39, 3, 5, std::nanf(""));
  const auto check = reference::compare(c.p, c.pointers(), exact, plain, false).tensors[0];
  EXPECT_EQ(check.max_error, INFINITY);
  EXPECT_EQ(check.failures, 1);
  EXPECT_EQ(check.batch, 1);
  EXPECT_EQ(check.row, 39);
  EXPECT_EQ(check.head, 3);
  EXPECT_EQ(check.column, 5);
  c.lse[39] += 0.01f;
  c.lse[40] = 0;  // a row without keys
  EXPECT_EQ(failing(false), "out lse ");
  c.dq.set(0, 3, 0, 0, 1e-30f);  // a row without keys
  c.dk.set(0, 3, 0, 0, 100);
  c.dv.set(0, 3, 0, 0, INFINITY);
  EXPECT_EQ(failing(true), "dq dk dv ");
}

TEST(Compare, TakesTheBoundOfOutFromVWhenItIsNotGiven) {
  Case c({.seqlen_q = 10, .seqlen_k = 12});
  c.run();
  auto exact = reference::compute(c.p, c.pointers(), false, Arithmetic::float64);
  const auto plain = reference::compute(c.p, c.pointers(), false, Arithmetic::plain);
  const double with = reference::compare(c.p, c.pointers(), exact, plain, false).tensors[0].bound;
  EXPECT_EQ(exact.bound_out, reference::bound_out(c.p, c.v.data()));
  exact.bound_out.clear();
  EXPECT_EQ(with, reference::compare(c.p, c.pointers(), exact, plain, false).tensors[0].bound);
}

}  // namespace
}  // namespace speedlight
