#include "planned/modes.h"

#include <algorithm>
#include <random>

namespace speedlight::emulator {
namespace {

constexpr i32 resident[] = {1, 2, 8};  // blocks
const std::vector<i32> level_counts = {2, 3, 3, i32(std::size(resident))};

Config config_of(const Levels& levels, u64 seed) {
  return {
      .landing = Landing(levels[0]), .warps = Warps(levels[1]), .blocks = Blocks(levels[2]), .seed = seed, .resident = resident[levels[3]]};
}

}  // namespace

std::vector<Config> all_modes() {
  std::vector<Config> list;
  for (const Levels& levels : product(level_counts)) list.push_back(config_of(levels, list.size() + 1));
  return list;
}

std::vector<Config> pairwise_modes(u64 seed, std::size_t count) {
  const std::vector<Levels> candidates = product(level_counts);
  std::vector<std::size_t> rows = pairwise(candidates, seed, 40);
  std::mt19937_64 random(seed);
  while (rows.size() < count) rows.push_back(random() % candidates.size());
  std::vector<Config> list;
  for (const std::size_t row : rows) list.push_back(config_of(candidates[row], random()));
  std::shuffle(list.begin(), list.end(), random);
  list.resize(count);
  return list;
}

Config normalised(Config modes, u32 grid) {
  modes.resident = std::min(modes.resident, std::max<i32>(1, i32(grid)));
  if (grid <= 1) modes.blocks = Blocks::forward;
  return modes;
}

Levels levels_of(const Config& m) {
  return {i32(m.landing), i32(m.warps), i32(m.blocks), i32(std::ranges::find(resident, m.resident) - std::begin(resident))};
}

std::string to_text(const Config& m) {
  const char* const warps[] = {"greedy", "round robin", "random"};
  const char* const blocks[] = {"forward", "reversed", "shuffled"};
  return std::string("copies land ") + (m.landing == Landing::late ? "late" : "at once") + ", warps " + warps[int(m.warps)] + ", blocks " +
         blocks[int(m.blocks)] + ", " + std::to_string(m.resident) + " resident, seed " + std::to_string(m.seed);
}

}  // namespace speedlight::emulator
