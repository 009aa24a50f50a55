// The public entry of the backend: what it refuses, that it then writes nothing, and that the next call works.
#include "cpu/attention.h"

#include <gtest/gtest.h>

#include "problem/error.h"
#include "tests/cpu/case.h"

namespace speedlight {
namespace {

using test::Case;

std::string refusal(const std::function<void()>& call, Status status = Status::invalid_argument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    return error.what();
  }
  return "not refused";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CpuAttention, ComputesWhatTheReferenceDoes) {
  Case c({.seqlen_q = 100, .seqlen_k = 120, .window = test::causal, .dlse = true});
  cpu::forward(c.p, c.pointers());
  cpu::backward(c.p, c.pointers());
  const auto exact = reference::compute(c.p, c.pointers(), true, reference::Arithmetic::float64);
  const auto plain = reference::compute(c.p, c.pointers(), true, reference::Arithmetic::plain);
  EXPECT_TRUE(reference::compare(c.p, c.pointers(), exact, plain, false).pass);
  EXPECT_TRUE(reference::compare(c.p, c.pointers(), exact, plain, true).pass);
}

TEST(CpuAttention, RefusesNullPointersByName) {
  Case c({.dlse = true});
  const auto missing = [&](const char* name, auto Pointers::*pointer, bool backward) {
    Pointers x = c.pointers();
    x.*pointer = nullptr;
    const std::string message = refusal([&] { backward ? cpu::backward(c.p, x) : cpu::forward(c.p, x); });
    EXPECT_TRUE(message.starts_with(std::string(name) + " is null")) << message;
  };
  missing("q", &Pointers::q, false);
  missing("k", &Pointers::k, false);
  missing("v", &Pointers::v, false);
  missing("out", &Pointers::out, false);
  missing("lse", &Pointers::lse, false);
  missing("lse", &Pointers::lse, true);
  missing("dout", &Pointers::dout, true);
  missing("dlse", &Pointers::dlse, true);
  missing("dq", &Pointers::dq, true);
  missing("dk", &Pointers::dk, true);
  missing("dv", &Pointers::dv, true);
  c.out.each([&](i64 b, i64 row, i64 h, i64 d) { ASSERT_TRUE(std::isnan(c.out.get(b, row, h, d))); });
  cpu::forward(c.p, c.pointers());
  EXPECT_TRUE(std::isfinite(c.out.get(0, 0, 0, 0)));
}

TEST(CpuAttention, RefusesPointersThatAreLessAlignedThanTheProblemSays) {
  Case c({});
  Pointers x = c.pointers();
  x.k = static_cast<const char*>(x.k) + 2;
  EXPECT_TRUE(contains(refusal([&] { cpu::forward(c.p, x); }), "k is 0x"));
}

TEST(CpuAttention, ValidatesTheProblem) {
  Case c({});
  Problem p = c.p;
  p.heads_kv = 3;
  EXPECT_TRUE(contains(refusal([&] { cpu::forward(p, c.pointers()); }), "heads_q is 4"));
  p = c.p;
  p.scale = INFINITY;
  EXPECT_TRUE(contains(refusal([&] { cpu::backward(p, c.pointers()); }), "scale"));
  p = c.p;
  p.softcap = 30;
  EXPECT_TRUE(contains(refusal([&] { cpu::forward(p, c.pointers()); }, Status::unsupported), "softcap"));
}

TEST(CpuAttention, TensorsWithoutElementsMayBeNull) {
  Case c({.seqlen_q = 0});
  Pointers x = c.pointers();
  x.q = x.dout = nullptr, x.out = x.dq = nullptr, x.lse = nullptr;
  cpu::forward(c.p, x);
  cpu::backward(c.p, x);
  EXPECT_EQ(c.dk.get(0, 0, 0, 0), 0);
  Problem nothing;
  nothing.head_dim = nothing.value_dim = 64;
  cpu::forward(nothing, Pointers{});
}

}  // namespace
}  // namespace speedlight
