// Memory grows linearly with the sequence.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/cpu/case.h"

namespace speedlight {
namespace {

// Peak resident kilobytes of this process.
i64 peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      i64 value = 0;
      status >> value;
      return value;
    }
  return 0;
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Peak growth of a forward and a backward, tensors included, in a process of its own.
i64 peak_of(i64 seqlen) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    reset_peak();
    const i64 before = peak_kilobytes();
    test::Case c({.batch = 1, .heads_q = 4, .heads_kv = 4, .seqlen_q = seqlen, .seqlen_k = seqlen, .window = {64, 0}});
    c.run();
    const i64 grown = peak_kilobytes() - before;
    _exit(write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  i64 grown = 0;
  const bool got = read(ends[0], &grown, sizeof grown) == sizeof grown;
  waitpid(child, nullptr, 0);
  close(ends[0]), close(ends[1]);
  return got ? grown : 0;
}

TEST(CpuMemory, IsLinearInTheSequence) {
  const i64 one = peak_of(8192), two = peak_of(16384);
  ASSERT_GT(one, 0);
  EXPECT_LE(double(two), 2.2 * double(one)) << one << " KiB at 8192, " << two << " at 16384";
}

}  // namespace
}  // namespace speedlight
