// Other work on the GPU, beside what is being checked: blocks that take SMs away and give them back, and copies that sweep the L2 cache.
#pragma once
#include "config/ceiling_config.h"
#include "machine.h"

namespace speedlight::cli {

class Load {
 public:
  explicit Load(Machine& machine);
  // Enqueues about `ms` milliseconds of it beside the main queue, cut into pieces as `round` says, and does not wait. Nothing on the CPU.
  void start(double ms, int round);
  void wait();

 private:
  Machine& machine_;
  CeilingParams params_{};
  std::vector<std::function<void()>> launches_;  // on a part of the SMs each
  void *from_ = nullptr, *to_ = nullptr;
  double iteration_ms_ = 0;
};

}  // namespace speedlight::cli
