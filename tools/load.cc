#include "load.h"
#include <algorithm>
#include "config/digest_config.h"

namespace speedlight::cli {
namespace {

constexpr i64 copy_bytes = i64(64) << 20;

}  // namespace

Load::Load(Machine& machine) : machine_(machine) {
  if (!machine.cuda()) return;
  const u32 sms = u32(gpu::device_facts(gpu::current_device()).sms);
  params_ = {static_cast<float*>(machine.allocate(sms * 4)), 2000, 1};
  from_ = machine.allocate(copy_bytes), to_ = machine.allocate(copy_bytes);
  machine.fill(from_, 0x5a, copy_bytes);
  const KernelConfig config = CeilingConfig{};
  for (const u32 part : {8, 4, 2, 1}) launches_.push_back(machine.launcher(config, std::max(sms / part, 1u), &params_, Queue::beside));
  const auto alone = machine.launcher(config, sms, &params_);
  machine.time(alone, 1);  // warms up
  iteration_ms_ = machine.time(alone, 1) / params_.iterations;
}

void Load::start(double ms, int round) {
  if (!machine_.cuda()) return;
  u64 random = digest_term(u32(round), 1);
  const auto below = [&](u64 n) {
    const u64 drawn = random % n;
    random /= n;
    return drawn;
  };
  const int pieces = 2 + int(below(7));
  params_.iterations = i32(std::clamp(ms / pieces / iteration_ms_, 1.0, 1e7));
  for (int i = 0; i < pieces; ++i) {
    launches_[below(launches_.size())]();
    if (const i64 quarters = i64(below(3)); quarters > 0) machine_.copy(to_, from_, copy_bytes / 4 * quarters, Queue::beside);
  }
}

void Load::wait() { machine_.synchronize(Queue::beside); }

}  // namespace speedlight::cli
