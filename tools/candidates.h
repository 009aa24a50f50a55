// The tunings that `speedlight tune` times for a kernel: the tables' rows first, then their neighbours, a field or two away, or all that there are.
#pragma once
#include <vector>
#include "plan/plan.h"

namespace speedlight::cli {

inline constexpr size_t most_neighbours = 48;  // that are timed
enum class Reach : u8 {
  neighbours,
  all,  // every valid tuning of the fields' usual values with the card's best instructions, but for those that differ in name only
};

template <class Tuning>
struct Candidates {
  // Made of instructions that the card's target has, and within its shared memory; none twice. Rows of the card's own table come first.
  std::vector<Tuning> valid;
  int considered = 0;  // tunings that were looked at
};
Candidates<ForwardTuning> forward_candidates(const Spec& spec, const DeviceFacts& card, Reach reach);
Candidates<BackwardTuning> backward_candidates(const Spec& spec, const DeviceFacts& card, Reach reach);

}  // namespace speedlight::cli
