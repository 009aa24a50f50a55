// What a caller may get wrong: each is refused with a message that names it, nothing is written, and the next call works.
#include <gtest/gtest.h>

#include <functional>

#include "tests/api/call.h"

namespace {

using api_test::Call;

struct Mistake {
  const char* name;
  std::function<void(Call&)> make;
  speedlight_status status;
  const char* message;  // part of it
};

void expect_refused(const Mistake& mistake, bool backward) {
  SCOPED_TRACE(std::string(mistake.name) + (backward ? ", backward" : ", forward"));
  Call good, bad;
  if (backward) {  // backward only reads the output: give it a real one
    ASSERT_EQ(bad.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
    ASSERT_EQ(good.forward(), SPEEDLIGHT_OK);
  }
  const auto out = bad.out.content();
  mistake.make(bad);
  EXPECT_EQ(backward ? bad.backward() : bad.forward(), mistake.status) << speedlight_last_error();
  EXPECT_NE(std::string(speedlight_last_error()).find(mistake.message), std::string::npos) << speedlight_last_error();
  EXPECT_TRUE(bad.gradients_untouched());
  EXPECT_TRUE(backward ? bad.out.content() == out : bad.outputs_untouched());
  EXPECT_EQ(backward ? good.backward() : good.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
  EXPECT_STREQ(speedlight_last_error(), "");
  EXPECT_TRUE(good.guards_intact());
}

const Mistake both_passes[] = {
    {"dtype unset", [](Call& c) { c.problem.dtype = 0; }, SPEEDLIGHT_INVALID_ARGUMENT, "problem.dtype is 0"},
    {"dtype fp32", [](Call& c) { c.problem.dtype = SPEEDLIGHT_FP32; }, SPEEDLIGHT_INVALID_ARGUMENT, "problem.dtype is 3"},
    {"dtype of k differs",
     [](Call& c) {
       c.problem.k = {53 * 128, 128, 64, SPEEDLIGHT_FP16, 16};
     },
     SPEEDLIGHT_INVALID_ARGUMENT, "k.dtype"},
    {"dtype of out unknown",
     [](Call& c) {
       c.problem.out = {37 * 256, 256, 64, 9, 16};
     },
     SPEEDLIGHT_INVALID_ARGUMENT, "problem.out.dtype is 9"},
    {"strides without dtype", [](Call& c) { c.problem.v.row_stride = 128; }, SPEEDLIGHT_INVALID_ARGUMENT, "problem.v has strides"},
    {"negative batch", [](Call& c) { c.problem.batch = -1; }, SPEEDLIGHT_INVALID_ARGUMENT, "batch is -1"},
    {"negative seqlen", [](Call& c) { c.problem.seqlen_k = -5; }, SPEEDLIGHT_INVALID_ARGUMENT, "seqlen_k is -5"},
    {"overflowing shape", [](Call& c) { c.problem.seqlen_q = INT64_MAX / 2; }, SPEEDLIGHT_INVALID_ARGUMENT, "64 bits"},
    {"head dim 0", [](Call& c) { c.problem.head_dim = 0; }, SPEEDLIGHT_INVALID_ARGUMENT, "head_dim is 0"},
    {"head dim 80", [](Call& c) { c.problem.head_dim = c.problem.value_dim = 80; }, SPEEDLIGHT_UNSUPPORTED, "head_dim is 80"},
    {"value dim differs", [](Call& c) { c.problem.value_dim = 128; }, SPEEDLIGHT_UNSUPPORTED, "value_dim is 128"},
    {"heads do not divide", [](Call& c) { c.problem.heads_kv = 3; }, SPEEDLIGHT_INVALID_ARGUMENT, "heads_q is 4"},
    {"negative stride",
     [](Call& c) {
       c.problem.q = {37 * 256, -256, 64, SPEEDLIGHT_BF16, 16};
     },
     SPEEDLIGHT_INVALID_ARGUMENT, "q.row_stride"},
    {"scale not finite", [](Call& c) { c.problem.scale = 1.0f / 0.0f; }, SPEEDLIGHT_INVALID_ARGUMENT, "scale is inf"},
    {"mask unknown", [](Call& c) { c.problem.mask = 7; }, SPEEDLIGHT_INVALID_ARGUMENT, "problem.mask is 7"},
    {"window without its mask", [](Call& c) { c.problem.window_left = 16; }, SPEEDLIGHT_INVALID_ARGUMENT, "window_left"},
    {"unknown wanted bit", [](Call& c) { c.problem.wanted |= 64; }, SPEEDLIGHT_INVALID_ARGUMENT, "problem.wanted"},
    {"has_dlse 2", [](Call& c) { c.problem.has_dlse = 2; }, SPEEDLIGHT_INVALID_ARGUMENT, "has_dlse is 2"},
    {"layout", [](Call& c) { c.problem.sequence_layout = 1; }, SPEEDLIGHT_INVALID_ARGUMENT, "sequence_layout is 1"},
    {"determinism unknown", [](Call& c) { c.problem.determinism = 3; }, SPEEDLIGHT_INVALID_ARGUMENT, "determinism is 3"},
    {"softcap", [](Call& c) { c.problem.softcap = 30; }, SPEEDLIGHT_UNSUPPORTED, "softcap is 30"},
    {"dropout", [](Call& c) { c.problem.dropout = 0.1f; }, SPEEDLIGHT_UNSUPPORTED, "dropout"},
    {"accumulate", [](Call& c) { c.problem.accumulate = 1; }, SPEEDLIGHT_UNSUPPORTED, "accumulate"},
    {"q null", [](Call& c) { c.tensors.q = nullptr; }, SPEEDLIGHT_INVALID_ARGUMENT, "q is"},
    {"k null", [](Call& c) { c.tensors.k = nullptr; }, SPEEDLIGHT_INVALID_ARGUMENT, "k is"},
    {"out null", [](Call& c) { c.tensors.out = nullptr; }, SPEEDLIGHT_INVALID_ARGUMENT, "out is"},
    {"lse null", [](Call& c) { c.tensors.lse = nullptr; }, SPEEDLIGHT_INVALID_ARGUMENT, "lse is"},
    {"odd address", [](Call& c) { c.tensors.v = static_cast<const char*>(c.tensors.v) + 1; }, SPEEDLIGHT_INVALID_ARGUMENT, "v.alignment"},
    {"workspace in a call that gets its own", [](Call& c) { c.tensors.workspace_bytes = 64; }, SPEEDLIGHT_INVALID_ARGUMENT,
     "tensors.workspace"},
    {"device unset", [](Call& c) { c.options.device = 0; }, SPEEDLIGHT_INVALID_ARGUMENT, "options.device is 0"},
    {"ordinal of the CPU", [](Call& c) { c.options.ordinal = 1; }, SPEEDLIGHT_INVALID_ARGUMENT, "options.ordinal is 1"},
    {"card for the CPU", [](Call& c) { c.options.card = "rtx5090"; }, SPEEDLIGHT_INVALID_ARGUMENT, "options.card"},
};

const Mistake backward_only[] = {
    {"dout null", [](Call& c) { c.tensors.dout = nullptr; }, SPEEDLIGHT_INVALID_ARGUMENT, "dout is"},
    {"dq null", [](Call& c) { c.tensors.dq = nullptr; }, SPEEDLIGHT_INVALID_ARGUMENT, "dq is"},
    {"dlse announced but null", [](Call& c) { c.problem.has_dlse = 1; }, SPEEDLIGHT_INVALID_ARGUMENT, "dlse is"},
    {"gradient with rows that overlap",
     [](Call& c) {
       c.problem.dk = {53 * 128, 32, 64, SPEEDLIGHT_BF16, 16};
     },
     SPEEDLIGHT_INVALID_ARGUMENT, "dk."},
};

TEST(Errors, ForwardRefuses) {
  for (const Mistake& mistake : both_passes) expect_refused(mistake, false);
}

TEST(Errors, BackwardRefuses) {
  for (const Mistake& mistake : both_passes) expect_refused(mistake, true);
  for (const Mistake& mistake : backward_only) expect_refused(mistake, true);
}

TEST(Errors, NullStructs) {
  Call c;
  EXPECT_EQ(speedlight_attention_forward(nullptr, &c.options, &c.tensors, nullptr, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(speedlight_last_error(), "problem is NULL");
  EXPECT_EQ(speedlight_attention_forward(&c.problem, nullptr, &c.tensors, nullptr, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(speedlight_last_error(), "options is NULL");
  EXPECT_EQ(speedlight_attention_forward(&c.problem, &c.options, nullptr, nullptr, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(speedlight_last_error(), "tensors is NULL");
  EXPECT_TRUE(c.outputs_untouched());
  EXPECT_EQ(speedlight_forward(nullptr, &c.tensors, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(speedlight_last_error(), "plan is NULL");
  EXPECT_EQ(speedlight_prepare(nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(speedlight_plan_create(&c.problem, SPEEDLIGHT_FORWARD, &c.options, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(speedlight_problem_init(nullptr, sizeof(speedlight_problem), SPEEDLIGHT_BF16, 1, 1, 1, 1, 1, 64), SPEEDLIGHT_INVALID_ARGUMENT);
  speedlight_plan_destroy(nullptr);
}

TEST(Errors, PlanOfTheOtherPass) {
  Call c;
  speedlight_plan* plan = nullptr;
  ASSERT_EQ(speedlight_plan_create(&c.problem, SPEEDLIGHT_FORWARD, &c.options, &plan), SPEEDLIGHT_OK) << speedlight_last_error();
  EXPECT_EQ(speedlight_backward(plan, &c.tensors, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_TRUE(c.outputs_untouched());
  EXPECT_EQ(speedlight_forward(plan, &c.tensors, nullptr), SPEEDLIGHT_OK) << speedlight_last_error();
  speedlight_plan_destroy(plan);
  EXPECT_EQ(speedlight_plan_create(&c.problem, static_cast<speedlight_pass>(3), &c.options, &plan), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
}

TEST(Errors, CpuHasNoStream) {
  Call c;
  int stream = 0;
  EXPECT_EQ(speedlight_attention_forward(&c.problem, &c.options, &c.tensors, nullptr, &stream), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_NE(std::string(speedlight_last_error()).find("stream"), std::string::npos);
  EXPECT_TRUE(c.outputs_untouched());
}

TEST(Errors, StatusNames) {
  EXPECT_STREQ(speedlight_status_name(SPEEDLIGHT_OK), "ok");
  EXPECT_STREQ(speedlight_status_name(SPEEDLIGHT_INTERNAL), "internal");
  EXPECT_STREQ(speedlight_status_name(static_cast<speedlight_status>(99)), "unknown");
}

}  // namespace
