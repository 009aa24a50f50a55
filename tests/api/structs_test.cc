// struct_size and the tail: how a program and a library of different versions meet.
#include <gtest/gtest.h>

#include "tests/api/call.h"

namespace {

using api_test::Call;

template <class Struct>
struct Longer {  // what a newer header would declare
  Struct known;
  std::int64_t later[2] = {0, 0};
};

TEST(Structs, SizeTooSmallOrUnset) {
  for (const std::size_t size : {std::size_t(0), std::size_t(8), sizeof(speedlight_problem) - 1, std::size_t(-1)}) {
    Call c;
    c.problem.struct_size = size;
    EXPECT_EQ(c.forward(), SPEEDLIGHT_INVALID_ARGUMENT) << size;
    EXPECT_NE(std::string(speedlight_last_error()).find("problem.struct_size"), std::string::npos) << speedlight_last_error();
    EXPECT_TRUE(c.outputs_untouched());
  }
  Call c;
  c.options.struct_size = 4;
  EXPECT_EQ(c.forward(), SPEEDLIGHT_INVALID_ARGUMENT);
  c.options.struct_size = sizeof c.options;
  c.tensors.struct_size = 0;
  EXPECT_EQ(c.forward(), SPEEDLIGHT_INVALID_ARGUMENT);
  c.tensors.struct_size = sizeof c.tensors;
  EXPECT_TRUE(c.outputs_untouched());
  EXPECT_EQ(c.forward(), SPEEDLIGHT_OK) << speedlight_last_error();
}

TEST(Structs, LongerIsFineWhileItsTailIsZero) {
  Call c;
  Longer<speedlight_problem> problem{c.problem};
  Longer<speedlight_options> options{c.options};
  Longer<speedlight_tensors> tensors{c.tensors};
  problem.known.struct_size = sizeof problem, options.known.struct_size = sizeof options, tensors.known.struct_size = sizeof tensors;
  const auto call = [&] { return speedlight_attention_forward(&problem.known, &options.known, &tensors.known, nullptr, nullptr); };

  for (std::int64_t* later : {&problem.later[1], &options.later[0], &tensors.later[1]}) {
    *later = 1;
    EXPECT_EQ(call(), SPEEDLIGHT_UNSUPPORTED);
    EXPECT_NE(std::string(speedlight_last_error()).find("does not know"), std::string::npos) << speedlight_last_error();
    EXPECT_TRUE(c.outputs_untouched());
    *later = 0;
  }
  EXPECT_EQ(call(), SPEEDLIGHT_OK) << speedlight_last_error();
}

TEST(Structs, InitLeavesALongerTailZero) {
  Longer<speedlight_problem> problem;
  problem.later[0] = problem.later[1] = -1;
  ASSERT_EQ(speedlight_problem_init(&problem.known, sizeof problem, SPEEDLIGHT_FP16, 1, 2, 3, 4, 2, 64), SPEEDLIGHT_OK);
  EXPECT_EQ(problem.later[0], 0);
  EXPECT_EQ(problem.later[1], 0);
  EXPECT_EQ(problem.known.struct_size, sizeof problem);
  EXPECT_FLOAT_EQ(problem.known.scale, 0.125f);
}

TEST(Structs, AllocatorIsChecked) {
  Call c;
  speedlight_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  EXPECT_EQ(speedlight_attention_forward(&c.problem, &c.options, &c.tensors, &allocator, nullptr), SPEEDLIGHT_INVALID_ARGUMENT);
  EXPECT_STREQ(speedlight_last_error(), "allocator.allocate is NULL");
  EXPECT_TRUE(c.outputs_untouched());
}

// The sizes of version 0.1 are part of the ABI: they only ever grow, and only with SPEEDLIGHT_VERSION_MINOR.
TEST(Structs, SizesOfThisVersion) {
  EXPECT_EQ(sizeof(speedlight_layout), 32u);
  EXPECT_EQ(sizeof(speedlight_problem), 376u);
  EXPECT_EQ(sizeof(speedlight_options), 24u);
  EXPECT_EQ(sizeof(speedlight_tensors), 104u);
  EXPECT_EQ(sizeof(speedlight_allocator), 32u);
}

}  // namespace
