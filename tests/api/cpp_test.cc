// The C++ header: shapes are compared, errors are exceptions with a code, plans are values that clean up.
#include <gtest/gtest.h>

#include <vector>

#include "speedlight/speedlight.hpp"
#include "tests/api/call.h"

namespace {

using speedlight::Attention, speedlight::Device, speedlight::DType, speedlight::Mask, speedlight::Plan, speedlight::Tensor;

struct Memory {
  std::vector<std::uint16_t> q = api_test::random_bf16(2 * 9 * 4 * 64, 1), k = api_test::random_bf16(2 * 12 * 2 * 64, 2);
  std::vector<std::uint16_t> v = api_test::random_bf16(2 * 12 * 2 * 64, 3), dout = api_test::random_bf16(2 * 9 * 4 * 64, 4);
  std::vector<float> out = std::vector<float>(2 * 9 * 4 * 64), lse = std::vector<float>(2 * 4 * 9),
                     dk = std::vector<float>(2 * 12 * 2 * 64);

  Attention call() {
    Attention a;
    a.q = Tensor(q.data(), DType::bf16, {2, 9, 4, 64});
    a.k = Tensor(k.data(), DType::bf16, {2, 12, 2, 64});
    a.v = Tensor(v.data(), DType::bf16, {2, 12, 2, 64});
    a.out = Tensor(out.data(), DType::fp32, {2, 9, 4, 64});
    a.lse = lse.data();
    a.mask = Mask::causal();
    a.dout = Tensor(dout.data(), DType::bf16, {2, 9, 4, 64});
    a.dk = Tensor(dk.data(), DType::fp32, {2, 12, 2, 64});
    return a;
  }
};

speedlight_status code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const speedlight::Error& error) {
    return error.code();
  }
  return SPEEDLIGHT_OK;
}

TEST(Cpp, OnceAndPlannedAgree) {
  Memory once, planned;
  forward(once.call(), Device::cpu());
  backward(once.call(), Device::cpu());
  Plan::forward(planned.call(), Device::cpu()).run(planned.call());
  const Plan plan = Plan::backward(planned.call(), Device::cpu());
  plan.prepare();
  EXPECT_EQ(plan.workspace_size(), 0);
  plan.run(planned.call());
  EXPECT_EQ(once.out, planned.out);
  EXPECT_EQ(once.dk, planned.dk);
  EXPECT_NE(once.dk, std::vector<float>(once.dk.size()));
}

TEST(Cpp, ErrorsCarryACode) {
  Memory memory;
  Attention call = memory.call();
  call.k = Tensor(memory.k.data(), DType::bf16, {2, 12, 3, 64});
  EXPECT_EQ(code_of([&] { forward(call, Device::cpu()); }), SPEEDLIGHT_INVALID_ARGUMENT);
  call = memory.call();
  call.out = {};
  EXPECT_EQ(code_of([&] { forward(call, Device::cpu()); }), SPEEDLIGHT_INVALID_ARGUMENT);
  call = memory.call();
  EXPECT_EQ(code_of([&] { Plan::forward(call, Device::cuda(0).with_card("none of these")); }), SPEEDLIGHT_UNKNOWN_DEVICE);
  EXPECT_EQ(code_of([&] { forward(call, Device::cpu()); }), SPEEDLIGHT_OK);
}

TEST(Cpp, ExplainsAPlanForACard) {
  Memory memory;
  const std::string text = Plan::backward(memory.call(), Device::cuda(0).with_card("rtx5090")).explain();
  EXPECT_NE(text.find("bwd."), std::string::npos) << text;
}

}  // namespace
