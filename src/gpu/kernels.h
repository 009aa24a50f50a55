// Machine code on the device: loaded once a process, found again without a lock.
#pragma once
#include <array>
#include "gpu/driver.h"
#include "plan/plan.h"

namespace speedlight::gpu {

struct LoadedKernel {
  CUkernel kernel = nullptr;  // context-free: the driver finds the context's copy at the launch
  u32 shared = 0;             // dynamic bytes a block; in the twin padded to the card's occupancy
};

// What a plan needs of one device. Shared by equal plans, and never freed.
struct Prepared {
  static constexpr int max_launches = 8;
  std::array<LoadedKernel, max_launches> launches;
};

// Null when the plan is not prepared on the device. No lock and no allocation after the first success for this Plan object.
const Prepared* find_prepared(const Plan& plan, int ordinal);
// Loads what is missing. A context of the device must be current.
const Prepared& load_plan(const Plan& plan, int ordinal);

}  // namespace speedlight::gpu
