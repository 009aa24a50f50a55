// Many threads at once: shared plans, the plan cache, and a message for each thread.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/api/call.h"

namespace {

using api_test::Call;

void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, CallsOfDifferentShapesAgreeWithThemselves) {
  std::atomic<int> wrong = 0;
  in_threads(8, [&](int thread) {
    for (int round = 0; round < 20; round++) {
      const api_test::Shape shape{1, 1 + (thread * 7 + round) % 40, 1 + round, 2, 1, thread % 2 ? 64 : 128};
      Call first(shape), second(shape);
      if (first.forward() != SPEEDLIGHT_OK || second.forward() != SPEEDLIGHT_OK) wrong++;
      if (first.backward() != SPEEDLIGHT_OK || second.backward() != SPEEDLIGHT_OK) wrong++;
      if (first.out.content() != second.out.content() || first.dk.content() != second.dk.content()) wrong++;
      if (!first.guards_intact() || !second.guards_intact()) wrong++;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, OnePlanForAll) {
  Call reference;
  ASSERT_EQ(reference.forward(), SPEEDLIGHT_OK);
  speedlight_plan* plan = nullptr;
  ASSERT_EQ(speedlight_plan_create(&reference.problem, SPEEDLIGHT_FORWARD, &reference.options, &plan), SPEEDLIGHT_OK);
  std::atomic<int> wrong = 0;
  in_threads(8, [&](int) {
    for (int round = 0; round < 10; round++) {
      Call c;
      const char* text = nullptr;
      if (speedlight_plan_explain(plan, &text) != SPEEDLIGHT_OK || !*text) wrong++;
      if (speedlight_forward(plan, &c.tensors, nullptr) != SPEEDLIGHT_OK || c.out.content() != reference.out.content()) wrong++;
    }
  });
  EXPECT_EQ(wrong, 0);
  speedlight_plan_destroy(plan);
}

TEST(Threads, EachHasItsOwnMessage) {
  std::atomic<int> wrong = 0;
  in_threads(8, [&](int thread) {
    for (int round = 0; round < 50; round++) {
      Call c({1, 2, 2, 2, 1, 64});
      c.problem.mask = 100 + thread;
      if (c.forward() != SPEEDLIGHT_INVALID_ARGUMENT) wrong++;
      const std::string expected = "problem.mask is " + std::to_string(100 + thread);
      if (std::string(speedlight_last_error()).find(expected) != 0) wrong++;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
