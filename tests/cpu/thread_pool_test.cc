#include "cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/cpu/case.h"

namespace speedlight {
namespace {

class ThreadPool : public testing::Test {
 protected:
  void SetUp() override { cpu::set_thread_count(4); }
  void TearDown() override { cpu::set_thread_count(0); }
};

TEST_F(ThreadPool, EveryItemOnce) {
  for (const i64 count : {0, 1, 2, 5, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
    cpu::parallel_for(count, [&](i64 item, int slot) {
      ++seen[size_t(item)];
      ASSERT_GE(slot, 0);
      ASSERT_LT(slot, 4);
    });
    for (const auto& times : seen) ASSERT_EQ(times, 1);
  }
}

TEST_F(ThreadPool, NoSlotIsUsedTwiceAtATime) {
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> clash{false};
  cpu::parallel_for(2000, [&](i64, int slot) {
    if (busy[size_t(slot)]++ != 0) clash = true;
    std::this_thread::yield();
    --busy[size_t(slot)];
  });
  EXPECT_FALSE(clash);
}

TEST_F(ThreadPool, ThrowsTheFirstExceptionAndGoesOn) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> calls{0};
    EXPECT_THROW(cpu::parallel_for(1000000,
                                   [&](i64 item, int) {
                                     ++calls;
                                     if (item == 10) throw std::runtime_error("ten");
                                   }),
                 std::runtime_error);
    EXPECT_LT(calls, 1000000);
  }
  std::atomic<int> calls{0};
  cpu::parallel_for(10, [&](i64, int) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST_F(ThreadPool, Nests) {
  std::atomic<int> calls{0};
  cpu::parallel_for(8, [&](i64, int) { cpu::parallel_for(8, [&](i64, int) { ++calls; }); });
  EXPECT_EQ(calls, 64);
}

TEST_F(ThreadPool, ServesSeveralCallersAtOnce) {
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) cpu::parallel_for(20, [&](i64, int) { ++calls; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4000);
}

// The status of a child that runs `work`, or -1 if it hangs for a minute.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  for (int i = 0; i < 6000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

TEST_F(ThreadPool, WorksInAForkedChild) {
  test::Case c({.seqlen_q = 300, .seqlen_k = 300, .window = test::causal});
  c.run();
  const auto expected = c.dq.bytes();
  const auto again = [&] {
    c.dq.fill([] { return 0.0f; });
    c.run();
    return c.dq.bytes() == expected;
  };
  EXPECT_EQ(in_child(again), 0);
  EXPECT_EQ(in_child([&] { return again() && in_child(again) == 0; }), 0);
  EXPECT_TRUE(again());  // and the parent's threads are still there
}

TEST_F(ThreadPool, ForksWhileAnotherThreadComputes) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) cpu::parallel_for(100, [](i64, int) { std::this_thread::yield(); });
  });
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(in_child([] {
                std::atomic<int> calls{0};
                cpu::parallel_for(100, [&](i64, int) { ++calls; });
                return calls == 100;
              }),
              0);
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace speedlight
