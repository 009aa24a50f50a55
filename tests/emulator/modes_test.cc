// The arrays of modes meet every pair that they promise.
#include "planned/modes.h"

#include <gtest/gtest.h>

namespace speedlight::emulator {
namespace {

std::vector<Levels> levels_of_all(const std::vector<Config>& list) {
  std::vector<Levels> rows;
  for (const Config& modes : list) rows.push_back(levels_of(modes));
  return rows;
}

TEST(Pairwise, MeetsAllPairsOfTheCandidates) {
  std::vector<Levels> candidates = product({3, 2, 4, 2});
  EXPECT_EQ(pairs_met(candidates), 3 * 2 + 3 * 4 + 3 * 2 + 2 * 4 + 2 * 2 + 4 * 2);
  std::erase_if(candidates, [](const Levels& row) { return row[0] == 0 && row[2] == 3; });
  std::vector<Levels> chosen;
  for (const std::size_t i : pairwise(candidates, 5, 3)) chosen.push_back(candidates[i]);
  EXPECT_EQ(pairs_met(chosen), 43);
  EXPECT_LE(chosen.size(), 14u);
  chosen.pop_back();
  EXPECT_LT(pairs_met(chosen), 43);
}

TEST(Modes, EveryKernelMeetsEveryPair) {
  const i64 all = pairs_met(levels_of_all(all_modes()));
  EXPECT_EQ(all, 2 * 3 + 2 * 3 + 2 * 3 + 3 * 3 + 3 * 3 + 3 * 3);
  for (u64 seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(pairs_met(levels_of_all(pairwise_modes(seed, fewest_modes))), all) << seed;
    EXPECT_EQ(pairs_met(levels_of_all(pairwise_modes(seed, 17))), all) << seed;
    EXPECT_EQ(pairwise_modes(seed, 17).size(), 17u);
  }
  EXPECT_LT(pairs_met(levels_of_all(pairwise_modes(1, fewest_modes - 1))), all);
  EXPECT_NE(levels_of_all(pairwise_modes(1, 15)), levels_of_all(pairwise_modes(2, 15)));
}

TEST(Modes, WhatMakesNoDifferenceIsEqual) {
  const Config modes{.blocks = Blocks::reversed, .resident = 8};
  EXPECT_EQ(normalised(modes, 1).resident, 1);
  EXPECT_EQ(normalised(modes, 1).blocks, Blocks::forward);
  EXPECT_EQ(normalised(modes, 5).resident, 5);
  EXPECT_EQ(normalised(modes, 50).resident, 8);
}

}  // namespace
}  // namespace speedlight::emulator
