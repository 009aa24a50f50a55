// The float64 reference kernel on the emulator against the CPU's.
#include <gtest/gtest.h>
#include <cmath>
#include <memory>
#include <random>
#include "cpu/element.h"
#include "cpu/reference.h"
#include "kernels/reference.h"
#include "launch.h"
#include "memory.h"

namespace speedlight {
namespace {

struct Case {
  Problem problem;
  std::vector<u16> q, k, v, dout;
  std::vector<float> dlse;
  Pointers pointers;

  Case(i64 batch, i64 heads_q, i64 heads_kv, i64 seqlen_q, i64 seqlen_k, Window window, bool fp32, i64 gap) {
    Problem& p = problem;
    p.batch = batch, p.heads_q = heads_q, p.heads_kv = heads_kv, p.seqlen_q = seqlen_q, p.seqlen_k = seqlen_k,
    p.head_dim = p.value_dim = 64;
    p.dtype = DType::bf16, p.scale = 0.2f, p.window = window, p.has_dlse = true;
    p.q = p.dout = contiguous(p.dtype, seqlen_q, heads_q, 64 + gap);
    p.k = p.v = contiguous(p.dtype, seqlen_k, heads_kv, 64 + gap);
    p.out = p.dq = contiguous(fp32 ? DType::fp32 : p.dtype, seqlen_q, heads_q, 64);
    p.dk = p.dv = contiguous(fp32 ? DType::fp32 : p.dtype, seqlen_k, heads_kv, 64);
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<u16>& x, i64 rows, i64 heads) {
      x.resize(size_t(batch * rows * heads * (64 + gap)));
      for (u16& e : x) e = float_to_bf16(normal(random));
    };
    fill(q, seqlen_q, heads_q), fill(dout, seqlen_q, heads_q), fill(k, seqlen_k, heads_kv), fill(v, seqlen_k, heads_kv);
    dlse.resize(size_t(batch * heads_q * seqlen_q));
    for (float& x : dlse) x = normal(random);
    pointers.q = q.data(), pointers.k = k.data(), pointers.v = v.data(), pointers.dout = dout.data(), pointers.dlse = dlse.data();
  }
};

StridedTensor strided(const void* data, const TensorLayout& t) { return {const_cast<void*>(data), t.batch, t.row, t.head}; }

reference::Values emulate(const Case& c, bool plain) {
  const Problem& p = c.problem;
  const i64 queries = p.batch * p.heads_q * p.seqlen_q, keys = p.batch * p.heads_kv * p.seqlen_k;
  reference::Values r;
  std::vector<double> delta(static_cast<size_t>(queries));
  ReferenceParams x{};
  x.q = strided(c.pointers.q, p.q), x.k = strided(c.pointers.k, p.k), x.v = strided(c.pointers.v, p.v),
  x.dout = strided(c.pointers.dout, p.dout);
  x.dlse = c.pointers.dlse, x.delta = delta.data();
  std::vector<std::unique_ptr<emulator::Region>> regions;
  const auto input = [&](const char* name, const StridedTensor& t, i64 rows, i64 heads) {
    regions.push_back(std::make_unique<emulator::Region>(name, t, 2, p.batch, rows, heads, 64, emulator::Access::input));
  };
  const auto output = [&](const char* name, std::vector<double>& to, i64 count) {
    to.resize(size_t(count));
    regions.push_back(std::make_unique<emulator::Region>(name, to.data(), count * 8, emulator::Access::output));
    return to.data();
  };
  input("q", x.q, p.seqlen_q, p.heads_q), input("dout", x.dout, p.seqlen_q, p.heads_q), input("k", x.k, p.seqlen_k, p.heads_kv),
      input("v", x.v, p.seqlen_k, p.heads_kv);
  regions.push_back(std::make_unique<emulator::Region>("dlse", x.dlse, queries * 4, emulator::Access::input));
  x.out = output("out", r.out, queries * 64), x.lse = output("lse", r.lse, queries), x.delta = output("delta", delta, queries);
  x.dq = output("dq", r.dq, queries * 64), x.bound_dq = output("bound_dq", r.bound_dq, queries * 64);
  x.dk = output("dk", r.dk, keys * 64), x.bound_dk = output("bound_dk", r.bound_dk, keys * 64);
  x.dv = output("dv", r.dv, keys * 64), x.bound_dv = output("bound_dv", r.bound_dv, keys * 64);
  x.shape = {i32(p.batch), i32(p.heads_q), i32(p.heads_kv), i32(p.seqlen_q), i32(p.seqlen_k)};
  x.window = p.window, x.head_dim = i32(p.head_dim), x.scale = double(p.scale), x.plain = plain;
  x.out_fp32 = p.out.dtype == DType::fp32, x.dq_fp32 = x.dk_fp32 = x.dv_fp32 = x.out_fp32;
  constexpr Spec spec{.dtype = DType::bf16, .head_dim = 64, .value_dim = 64};
  constexpr ReferenceConfig forward{spec, false}, backward{spec, true};
  emulator::launch(u32(ceil_div<i64>(queries, 4)), forward.threads(), 0, [&] { kernels::reference<forward>(x); },
                   {.name = "reference forward"});
  emulator::launch(u32(ceil_div<i64>(queries + keys, 4)), backward.threads(), 0, [&] { kernels::reference<backward>(x); },
                   {.name = "reference backward"});
  for (const auto& region : regions) EXPECT_EQ(region->unwritten(), 0);
  return r;
}

void expect_close(const std::vector<double>& is, const std::vector<double>& should, double tolerance, const char* name) {
  ASSERT_EQ(is.size(), should.size()) << name;
  double largest = 1e-30, worst = 0;
  for (const double x : should) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (is[i] == should[i]) continue;  // -inf too
    worst = std::max(worst, std::isfinite(is[i] - should[i]) ? std::abs(is[i] - should[i]) / largest : 1e30);
  }
  EXPECT_LE(worst, tolerance) << name;
}

void compare(const Case& c) {
  for (const bool plain : {false, true}) {
    const reference::Values is = emulate(c, plain);
    const reference::Values should =
        reference::compute(c.problem, c.pointers, true, plain ? reference::Arithmetic::plain : reference::Arithmetic::float64);
    const double tolerance = plain ? 0x1p-6 : 1e-12;  // plain: a sum in another order may round to the next bf16
    expect_close(is.out, should.out, tolerance, "out");
    expect_close(is.lse, should.lse, plain ? 1e-6 : tolerance, "lse");
    expect_close(is.dq, should.dq, tolerance, "dq");
    expect_close(is.dk, should.dk, tolerance, "dk");
    expect_close(is.dv, should.dv, tolerance, "dv");
    expect_close(is.bound_dq, should.bound_dq, tolerance, "bound_dq");
    expect_close(is.bound_dk, should.bound_dk, tolerance, "bound_dk");
    expect_close(is.bound_dv, should.bound_dv, tolerance, "bound_dv");
  }
}

TEST(Reference, NoMask) { compare(Case(2, 2, 2, 7, 11, {}, false, 0)); }
TEST(Reference, CausalGroupedHeadsWithGapsBetweenRows) {
  compare(Case(1, 4, 2, 13, 9, {Window::unlimited, 0}, true, 3));
}  // four rows see no key
TEST(Reference, Window) { compare(Case(1, 2, 1, 10, 12, {3, 1}, false, 0)); }
TEST(Reference, NoKeys) { compare(Case(1, 2, 1, 3, 0, {}, false, 0)); }
TEST(Reference, NoQueries) { compare(Case(1, 2, 1, 0, 5, {}, false, 0)); }

}  // namespace
}  // namespace speedlight
