// Whole calls on the CPU through the C ABI: against values known in closed form, and the two ways of calling against each other.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/api/call.h"

namespace {

using api_test::Call;
using api_test::from_bf16;

TEST(Cpu, UniformAttentionAveragesTheValues) {
  Call c({1, 5, 8, 2, 1, 64});
  c.problem.mask = SPEEDLIGHT_MASK_NONE;
  std::fill(c.q.begin(), c.q.end(), std::uint16_t(0));  // equal scores: P = 1/8
  ASSERT_EQ(c.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
  for (int d = 0; d < 64; d++) {
    float mean = 0;
    for (int key = 0; key < 8; key++) mean += from_bf16(c.v[key * 64 + d]) / 8;
    EXPECT_NEAR(from_bf16(c.out.as<std::uint16_t>()[d]), mean, 0.004f) << d;
  }
  for (int row = 0; row < 10; row++) EXPECT_NEAR(c.lse.as<float>()[row], std::log(8.0f), 1e-5f);
  EXPECT_TRUE(c.guards_intact());
}

TEST(Cpu, RowsWithoutKeys) {
  Call c({1, 4, 2, 2, 2, 64});  // causal, bottom right: the first two rows see nothing
  ASSERT_EQ(c.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
  ASSERT_EQ(c.backward(), SPEEDLIGHT_OK) << speedlight_last_error();
  for (int i = 0; i < 2 * 2 * 64; i++) {
    EXPECT_EQ(c.out.as<std::uint16_t>()[i], 0);
    EXPECT_EQ(from_bf16(c.dq.as<std::uint16_t>()[i]), 0);
  }
  for (const int row : {0, 1, 4, 5}) EXPECT_EQ(c.lse.as<float>()[row], -INFINITY);
}

TEST(Cpu, EmptyBatchAndEmptySequences) {
  for (const api_test::Shape shape : {api_test::Shape{0, 5, 5, 2, 1, 64}, {2, 0, 5, 2, 1, 64}, {2, 5, 0, 2, 1, 64}}) {
    Call c(shape);
    EXPECT_EQ(c.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
    EXPECT_EQ(c.backward(), SPEEDLIGHT_OK) << speedlight_last_error();
    for (const api_test::Output* output : {&c.out, &c.dq, &c.dk, &c.dv}) {
      for (const unsigned char byte : output->content()) ASSERT_EQ(byte, 0);
    }
    EXPECT_TRUE(c.guards_intact());
  }
}

TEST(Cpu, PlannedCallGivesTheSameBits) {
  Call at_once, planned;
  ASSERT_EQ(at_once.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
  ASSERT_EQ(at_once.backward(), SPEEDLIGHT_OK) << speedlight_last_error();
  for (auto& layout : {&planned.problem.q, &planned.problem.k, &planned.problem.v, &planned.problem.dout}) layout->alignment = 2;
  for (const speedlight_pass pass : {SPEEDLIGHT_FORWARD, SPEEDLIGHT_BACKWARD}) {
    speedlight_plan* plan = nullptr;
    ASSERT_EQ(speedlight_plan_create(&planned.problem, pass, &planned.options, &plan), SPEEDLIGHT_OK) << speedlight_last_error();
    std::int64_t bytes = -1;
    EXPECT_EQ(speedlight_plan_workspace_size(plan, &bytes), SPEEDLIGHT_OK);
    EXPECT_EQ(bytes, 0);
    const char* text = nullptr;
    EXPECT_EQ(speedlight_plan_explain(plan, &text), SPEEDLIGHT_OK);
    EXPECT_NE(std::string(text).find("CPU"), std::string::npos);
    EXPECT_EQ(speedlight_prepare(plan), SPEEDLIGHT_OK);
    EXPECT_EQ(pass == SPEEDLIGHT_FORWARD ? speedlight_forward(plan, &planned.tensors, nullptr)
                                         : speedlight_backward(plan, &planned.tensors, nullptr),
              SPEEDLIGHT_OK)
        << speedlight_last_error();
    speedlight_plan_destroy(plan);
  }
  EXPECT_EQ(at_once.out.content(), planned.out.content());
  EXPECT_EQ(at_once.lse.content(), planned.lse.content());
  EXPECT_EQ(at_once.dq.content(), planned.dq.content());
  EXPECT_EQ(at_once.dk.content(), planned.dk.content());
  EXPECT_EQ(at_once.dv.content(), planned.dv.content());
}

TEST(Cpu, OnlyWantedOutputsAreWritten) {
  Call c;
  c.problem.wanted = SPEEDLIGHT_WANT_LSE | SPEEDLIGHT_WANT_DK;
  c.tensors.dq = c.tensors.dv = nullptr;
  ASSERT_EQ(c.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
  EXPECT_TRUE(c.gradients_untouched());
  ASSERT_EQ(c.backward(), SPEEDLIGHT_OK) << speedlight_last_error();
  EXPECT_TRUE(c.dq.untouched() && c.dv.untouched() && !c.dk.untouched());
}

TEST(Cpu, CausalIsTheWindowThatEndsAtTheDiagonal) {
  Call causal, window;
  window.problem.mask = SPEEDLIGHT_MASK_WINDOW;
  window.problem.window_left = SPEEDLIGHT_UNLIMITED;
  window.problem.window_right = 0;
  ASSERT_EQ(causal.forward(), SPEEDLIGHT_OK);
  ASSERT_EQ(window.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
  EXPECT_EQ(causal.out.content(), window.out.content());
}

TEST(Cpu, LogCallbackCanBeSetAndCleared) {
  speedlight_set_log_callback([](speedlight_log_level, const char*, void*) {}, nullptr);
  Call c;
  EXPECT_EQ(c.forward(), SPEEDLIGHT_OK);
  speedlight_set_log_callback(nullptr, nullptr);
  EXPECT_STREQ(speedlight_version(), SPEEDLIGHT_VERSION);
}

}  // namespace
