// The adversary's modes for the case list: in CI a pairwise array of them a kernel, in the full product all.
#pragma once
#include <string>
#include <vector>

#include "launch.h"
#include "planned/pairwise.h"

namespace speedlight::emulator {

// Every combination of mode values. Each has a seed of its own.
std::vector<Config> all_modes();

// `count` modes that meet every pair of mode values, if there are at least `fewest_modes`; the seed decides which modes, in which order.
constexpr std::size_t fewest_modes = 9;  // 3 orders of warps x 3 of blocks, say
std::vector<Config> pairwise_modes(u64 seed, std::size_t count);

// What makes no difference for launches of at most `grid` blocks set to its first value: modes that are then equal need one run.
Config normalised(Config modes, u32 grid);

Levels levels_of(const Config& modes);
std::string to_text(const Config& modes);

}  // namespace speedlight::emulator
