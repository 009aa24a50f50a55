#include "plan/facts.h"
#include <gtest/gtest.h>

namespace speedlight {
namespace {

TEST(Facts, TargetServesItsMajorFromBelow) {
  EXPECT_EQ(target_for(80), 80);
  EXPECT_EQ(target_for(86), 86);
  EXPECT_EQ(target_for(87), 86);
  EXPECT_EQ(target_for(89), 86);
  EXPECT_EQ(target_for(90), 90);
  EXPECT_EQ(target_for(120), 120);
  EXPECT_EQ(target_for(121), 120);
  EXPECT_EQ(target_for(75), 75);
  EXPECT_EQ(target_for(100), 100);
}

TEST(Facts, CardsAreConsistent) {
  for (const DeviceFacts& card : known_cards()) {
    EXPECT_EQ(card.target, target_for(card.capability)) << card.name;
    EXPECT_GE(card.shared_block, shared_limit(card.target)) << card.name;
    EXPECT_EQ(card.shared_sm, card.shared_block + card.shared_reserved) << card.name;
    EXPECT_GT(card.sms, 0);
    EXPECT_GT(card.mma_tflops, 0);
    EXPECT_GT(card.memory_tbs, 0);
    EXPECT_EQ(find_card(card.name), card);
  }
  EXPECT_EQ(find_card("rtx5090")->shared_block, 101376);
  EXPECT_FALSE(find_card("rtx6090"));
}

TEST(BlocksPerSm, IsLimitedByWhatRunsOutFirst) {
  const DeviceFacts card = *find_card("rtx5090"), h200 = *find_card("h200");
  EXPECT_EQ(blocks_per_sm(card, 128, 255, 49664), 2);  // registers and shared memory alike
  EXPECT_EQ(blocks_per_sm(card, 128, 255, 50176), 2);  // twice 49 + 1 KiB: exactly all
  EXPECT_EQ(blocks_per_sm(card, 128, 255, 50177), 1);
  EXPECT_EQ(blocks_per_sm(card, 256, 255, 0), 1);  // 8 warps of 8192 registers are the whole file
  EXPECT_EQ(blocks_per_sm(card, 128, 168, 0), 3);  // 5376 registers a warp, 3 warps a quarter
  EXPECT_EQ(blocks_per_sm(card, 256, 32, 0), 6);   // 1536 threads
  EXPECT_EQ(blocks_per_sm(h200, 256, 32, 0), 8);   // 2048 threads
  EXPECT_EQ(blocks_per_sm(card, 32, 32, 0), card.blocks_sm);
  EXPECT_EQ(blocks_per_sm(card, 128, 64, 101376), 1);
  EXPECT_EQ(blocks_per_sm(card, 128, 64, 101377), 0);  // does not fit at all
}

}  // namespace
}  // namespace speedlight
