// The C ABI on a real GPU: the same call on the CPU and on the GPU, at once and planned, with the library's and a caller's allocator.
#include "tests/gpu/device_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/api/call.h"

namespace {

using api_test::Call;
using api_test::from_bf16;
using speedlight::gpu::DeviceMemory;

// A call whose tensors are copies of another's in device memory.
struct OnGpu {
  speedlight_problem problem;
  speedlight_options options{sizeof options, SPEEDLIGHT_CUDA, 0, ""};
  speedlight_tensors tensors{};
  DeviceMemory q, k, v, dout, out, lse, dq, dk, dv;

  explicit OnGpu(const Call& c)
      : problem(c.problem),
        q(c.q),
        k(c.k),
        v(c.v),
        dout(c.dout),
        out(c.out.bytes()),
        lse(c.lse.bytes()),
        dq(c.dq.bytes()),
        dk(c.dk.bytes()),
        dv(c.dv.bytes()) {
    tensors.struct_size = sizeof tensors;
    tensors.q = q.get(), tensors.k = k.get(), tensors.v = v.get(), tensors.out = out.get();
    tensors.lse = static_cast<float*>(lse.get());
    tensors.dout = dout.get(), tensors.dq = dq.get(), tensors.dk = dk.get(), tensors.dv = dv.get();
  }
};

void expect_near(const api_test::Output& expected, const DeviceMemory& got, double tolerance, const char* name) {
  const auto values = got.read<std::uint16_t>();
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); i++) {
    const double error = std::abs(from_bf16(values[i]) - from_bf16(expected.as<std::uint16_t>()[i]));
    worst = error >= worst || std::isnan(error) ? error : worst;  // a NaN stays
  }
  EXPECT_LE(worst, tolerance) << name;
}

// Inputs lie in [-1, 1]; both sides round P, dS and the result to bf16, so they differ by a few roundings.
void expect_same_answers(const Call& cpu, const OnGpu& gpu) {
  expect_near(cpu.out, gpu.out, 0.02, "out");
  expect_near(cpu.dq, gpu.dq, 0.05, "dq");
  expect_near(cpu.dk, gpu.dk, 0.05, "dk");
  expect_near(cpu.dv, gpu.dv, 0.05, "dv");
  const auto lse = gpu.lse.read<float>();
  for (std::size_t i = 0; i < lse.size(); i++) {
    const float expected = cpu.lse.as<float>()[i];
    if (std::isinf(expected) && expected == lse[i]) continue;  // a row without keys
    EXPECT_NEAR(lse[i], expected, 2e-3f) << i;
  }
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!speedlight::gpu::has_gpu()) GTEST_SKIP() << "no GPU here";
    ASSERT_EQ(cpu.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
    ASSERT_EQ(cpu.backward(), SPEEDLIGHT_OK) << speedlight_last_error();
  }
  Call cpu;
};

TEST_F(Gpu, AtOnce) {
  OnGpu gpu(cpu);
  ASSERT_EQ(speedlight_attention_forward(&gpu.problem, &gpu.options, &gpu.tensors, nullptr, nullptr), SPEEDLIGHT_OK)
      << speedlight_last_error();
  ASSERT_EQ(speedlight_attention_backward(&gpu.problem, &gpu.options, &gpu.tensors, nullptr, nullptr), SPEEDLIGHT_OK)
      << speedlight_last_error();
  expect_same_answers(cpu, gpu);
}

TEST_F(Gpu, Planned) {
  OnGpu gpu(cpu);
  const speedlight::gpu::TestStream stream;
  for (const speedlight_pass pass : {SPEEDLIGHT_FORWARD, SPEEDLIGHT_BACKWARD}) {
    speedlight_plan* plan = nullptr;
    ASSERT_EQ(speedlight_plan_create(&gpu.problem, pass, &gpu.options, &plan), SPEEDLIGHT_OK) << speedlight_last_error();
    std::int64_t bytes = 0;
    ASSERT_EQ(speedlight_plan_workspace_size(plan, &bytes), SPEEDLIGHT_OK);
    const DeviceMemory workspace(static_cast<std::size_t>(bytes));
    gpu.tensors.workspace = workspace.get();
    gpu.tensors.workspace_bytes = bytes;
    ASSERT_EQ(speedlight_prepare(plan), SPEEDLIGHT_OK) << speedlight_last_error();
    ASSERT_EQ(pass == SPEEDLIGHT_FORWARD ? speedlight_forward(plan, &gpu.tensors, stream.get())
                                         : speedlight_backward(plan, &gpu.tensors, stream.get()),
              SPEEDLIGHT_OK)
        << speedlight_last_error();
    stream.wait();
    speedlight_plan_destroy(plan);
  }
  expect_same_answers(cpu, gpu);
}

TEST_F(Gpu, CallersAllocator) {
  struct Memory {
    std::unique_ptr<DeviceMemory> block;
    int released = 0;
  } memory;
  speedlight_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = &memory;
  allocator.allocate = [](void* user, std::int64_t bytes, std::int32_t, void*) -> void* {
    auto& block = static_cast<Memory*>(user)->block;
    block = std::make_unique<DeviceMemory>(static_cast<std::size_t>(bytes));
    return block->get();
  };
  allocator.release = [](void* user, void*, std::int32_t, void*) { static_cast<Memory*>(user)->released++; };
  OnGpu gpu(cpu);
  ASSERT_EQ(speedlight_attention_forward(&gpu.problem, &gpu.options, &gpu.tensors, &allocator, nullptr), SPEEDLIGHT_OK)
      << speedlight_last_error();
  ASSERT_EQ(speedlight_attention_backward(&gpu.problem, &gpu.options, &gpu.tensors, &allocator, nullptr), SPEEDLIGHT_OK)
      << speedlight_last_error();
  expect_same_answers(cpu, gpu);
  EXPECT_TRUE(memory.block);
  EXPECT_GE(memory.released, 1);
}

}  // namespace
