// Pairwise covering arrays: few rows that meet every pair of values of every two factors.
#pragma once
#include <vector>

#include "base/types.h"

namespace speedlight::emulator {

using Levels = std::vector<i32>;  // a level, from 0, of each factor

// Few of the candidates, by number, that together meet every pair of levels that some candidate has. Greedy, the best of `tries` attempts that
// differ in how ties are broken; the same seed gives the same choice.
std::vector<std::size_t> pairwise(const std::vector<Levels>& candidates, u64 seed, i32 tries);

// All combinations of levels, the last factor running fastest.
std::vector<Levels> product(const std::vector<i32>& level_counts);

// How many different pairs (factor, level, another factor, level) the rows meet.
i64 pairs_met(const std::vector<Levels>& rows);

}  // namespace speedlight::emulator
