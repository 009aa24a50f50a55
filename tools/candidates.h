// The tunings that `speedlight tune` times for a kernel: the tables' rows first, then their neighbours, a field or two away.
#pragma once
#include <vector>
#include "plan/plan.h"

namespace speedlight::cli {

inline constexpr size_t most_candidates = 24;

// Valid, made of instructions that the card's target has, and within its shared memory; none twice. Rows of the card's own table come first.
std::vector<ForwardTuning> forward_candidates(const Spec& spec, const DeviceFacts& card, size_t most = most_candidates);
std::vector<BackwardTuning> backward_candidates(const Spec& spec, const DeviceFacts& card, size_t most = most_candidates);

}  // namespace speedlight::cli
