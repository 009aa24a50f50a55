// Tunings that no table has: valid ones, chosen so that pairs of their fields' values meet, for every Spec.
#pragma once
#include <vector>

#include "plan/kernel.h"

namespace speedlight::emulator {

// Few: every pair of values of two fields of a Tuning, and of a field and a Spec but for its dtype, that is valid somewhere. More: also each
// pair of a value and a whole Spec, for several choices, with rarer values.
enum class Sweep { few, more };
std::vector<KernelConfig> sweep(Sweep which);

}  // namespace speedlight::emulator
