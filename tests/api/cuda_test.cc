// CUDA through the C ABI, as far as a machine without a GPU can tell: plans for cards that are not here, and clear refusals.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/api/call.h"

namespace {

using api_test::Call;

struct Planned {
  speedlight_plan* plan = nullptr;  // before status, whose initialiser fills it
  speedlight_status status;
  explicit Planned(const Call& c, speedlight_pass pass = SPEEDLIGHT_FORWARD)
      : status(speedlight_plan_create(&c.problem, pass, &c.options, &plan)) {}
  ~Planned() { speedlight_plan_destroy(plan); }
};

Call cuda_call(const char* card) {
  Call c;
  c.options.device = SPEEDLIGHT_CUDA;
  c.options.card = card;
  return c;
}

bool has_gpu() {
  const Call c = cuda_call("");
  return Planned(c).status == SPEEDLIGHT_OK;
}

TEST(Cuda, PlansForACardThatIsNotHere) {
  for (const char* card : {"rtx5090", "rtxpro6000", "gb10", "h200", "a100", "rtx3090", "rtx4090"}) {
    const Call c = cuda_call(card);
    for (const speedlight_pass pass : {SPEEDLIGHT_FORWARD, SPEEDLIGHT_BACKWARD}) {
      const Planned planned(c, pass);
      ASSERT_EQ(planned.status, SPEEDLIGHT_OK) << card << ": " << speedlight_last_error();
      const char* text = nullptr;
      ASSERT_EQ(speedlight_plan_explain(planned.plan, &text), SPEEDLIGHT_OK);
      EXPECT_NE(std::string(text).find(card), std::string::npos) << text;
      std::int64_t bytes = -1;
      ASSERT_EQ(speedlight_plan_workspace_size(planned.plan, &bytes), SPEEDLIGHT_OK);
      EXPECT_GE(bytes, 0);
    }
  }
}

TEST(Cuda, MisalignedTensorsNeedMoreWorkspace) {
  Call c = cuda_call("rtx5090");
  const auto workspace = [&] {
    std::int64_t bytes = -1;
    EXPECT_EQ(speedlight_plan_workspace_size(Planned(c).plan, &bytes), SPEEDLIGHT_OK) << speedlight_last_error();
    return bytes;
  };
  const std::int64_t aligned = workspace();
  c.problem.k.alignment = 2;
  EXPECT_GT(workspace(), aligned);
}

TEST(Cuda, UnknownCard) {
  const Call c = cuda_call("rtx9999");
  EXPECT_EQ(Planned(c).status, SPEEDLIGHT_UNKNOWN_DEVICE);
  EXPECT_NE(std::string(speedlight_last_error()).find("rtx9999"), std::string::npos);
  EXPECT_NE(std::string(speedlight_last_error()).find("rtx5090"), std::string::npos) << "the message lists what is known";
}

TEST(Cuda, CardFromTheEnvironment) {
  ASSERT_EQ(setenv("SPEEDLIGHT_CARD", "gb10", 1), 0);
  {
    const Call c = cuda_call(nullptr);
    const Planned planned(c);
    ASSERT_EQ(planned.status, SPEEDLIGHT_OK) << speedlight_last_error();
    const char* text = nullptr;
    ASSERT_EQ(speedlight_plan_explain(planned.plan, &text), SPEEDLIGHT_OK);
    EXPECT_NE(std::string(text).find("gb10"), std::string::npos) << text;
  }
  ASSERT_EQ(setenv("SPEEDLIGHT_CARD", "nothing", 1), 0);
  const Call c = cuda_call(nullptr);
  EXPECT_EQ(Planned(c).status, SPEEDLIGHT_UNKNOWN_DEVICE);
  const Call cpu;
  EXPECT_EQ(Planned(cpu).status, SPEEDLIGHT_OK) << "the CPU has no card";
  ASSERT_EQ(unsetenv("SPEEDLIGHT_CARD"), 0);
}

TEST(Cuda, WithoutADriver) {
  if (has_gpu()) GTEST_SKIP() << "this machine has a GPU";
  Call c = cuda_call("");
  EXPECT_EQ(c.forward(), SPEEDLIGHT_NO_DRIVER);
  EXPECT_NE(std::string(speedlight_last_error()), "");
  EXPECT_TRUE(c.outputs_untouched());

  // A card can be planned for, but not run on.
  c.options.card = "rtx5090";
  const Planned planned(c);
  ASSERT_EQ(planned.status, SPEEDLIGHT_OK) << speedlight_last_error();
  EXPECT_EQ(speedlight_prepare(planned.plan), SPEEDLIGHT_NO_DRIVER) << speedlight_last_error();
  EXPECT_EQ(speedlight_forward(planned.plan, &c.tensors, nullptr), SPEEDLIGHT_NO_DRIVER) << speedlight_last_error();
  EXPECT_EQ(c.backward(), SPEEDLIGHT_NO_DRIVER) << speedlight_last_error();
  EXPECT_TRUE(c.outputs_untouched());

  c.options.device = SPEEDLIGHT_CPU;
  c.options.card = nullptr;
  EXPECT_EQ(c.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
}

TEST(Cuda, WorkspaceTooSmall) {
  Call c = cuda_call("rtx5090");
  const Planned planned(c, SPEEDLIGHT_BACKWARD);
  std::int64_t bytes = 0;
  ASSERT_EQ(speedlight_plan_workspace_size(planned.plan, &bytes), SPEEDLIGHT_OK) << speedlight_last_error();
  ASSERT_GT(bytes, 0);
  std::vector<unsigned char> workspace(static_cast<std::size_t>(bytes) + 256, api_test::poison);
  c.tensors.workspace = workspace.data() + 256 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 256;
  c.tensors.workspace_bytes = bytes - 1;
  EXPECT_EQ(speedlight_backward(planned.plan, &c.tensors, nullptr), SPEEDLIGHT_INVALID_ARGUMENT) << speedlight_last_error();
  EXPECT_NE(std::string(speedlight_last_error()).find("workspace"), std::string::npos) << speedlight_last_error();
  EXPECT_NE(std::string(speedlight_last_error()).find(std::to_string(bytes)), std::string::npos) << speedlight_last_error();
  EXPECT_TRUE(c.outputs_untouched());
}

// The caller's allocator is asked for exactly what is needed, and a refusal is an error of its own.
TEST(Cuda, AllocatorThatRefuses) {
  struct Seen {
    std::int64_t bytes = 0;
    int released = 0;
  } seen;
  speedlight_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = &seen;
  allocator.allocate = [](void* user, std::int64_t bytes, std::int32_t, void*) -> void* {
    static_cast<Seen*>(user)->bytes = bytes;
    return nullptr;
  };
  allocator.release = [](void* user, void*, std::int32_t, void*) { static_cast<Seen*>(user)->released++; };
  Call c = cuda_call("rtx5090");
  EXPECT_EQ(speedlight_attention_backward(&c.problem, &c.options, &c.tensors, &allocator, nullptr), SPEEDLIGHT_OUT_OF_MEMORY);
  EXPECT_GT(seen.bytes, 0);
  EXPECT_EQ(seen.released, 0);
  EXPECT_TRUE(c.outputs_untouched());
}

}  // namespace
