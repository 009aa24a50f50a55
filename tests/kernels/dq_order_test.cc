#include "attention/dq_order.h"
#include <gtest/gtest.h>
#include <vector>
#include "attention/query_walk.h"

namespace speedlight {
namespace {

constexpr i32 keys = 8, rows = 4;

// Lets blocks run one step at a time: at most `resident` at once, in the order of their tickets. True when all come to their end.
bool all_end(const std::vector<std::vector<i32>>& walks, const DqOrder<keys, rows>& order, i32 resident) {
  std::vector<std::size_t> at(walks.size());
  std::vector<i32> counter(order.q_tiles);
  for (bool moved = true; moved;) {
    moved = false;
    i32 running = 0;
    for (i32 k = order.k_tiles - 1; k >= 0 && running < resident; --k) {
      if (at[k] == walks[k].size()) continue;
      ++running;
      const i32 tile = walks[k][at[k]];
      if (counter[tile] != order.turn(k, tile)) continue;
      ++counter[tile], ++at[k];
      moved = true;
    }
  }
  for (std::size_t k = 0; k < walks.size(); ++k)
    if (at[k] != walks[k].size()) return false;
  return true;
}

// Every query tile's turns are 0, 1, 2, ... in some order of the key tiles that see it, the last of which knows that it is, and the blocks come to their end: upwards with any
// number of them running, cyclic with all of a head's.
void check(i32 seqlen_q, i32 seqlen_k, Window window, bool cyclic) {
  SCOPED_TRACE(testing::Message() << seqlen_q << " x " << seqlen_k << " window " << window.left << ' ' << window.right << " cyclic "
                                  << cyclic);
  const DqOrder<keys, rows> order{ceil_div(seqlen_k, keys), ceil_div(seqlen_q, rows), seqlen_q, diagonals(seqlen_q, seqlen_k, window),
                                  cyclic};
  std::vector<std::vector<i32>> walks(order.k_tiles), turns(order.q_tiles), lasts(order.q_tiles);
  for (i32 k = 0; k < order.k_tiles; ++k) {
    const TileRange tiles = row_tiles(i64(k) * keys, i64(k + 1) * keys, seqlen_q, seqlen_k, window, rows);
    for (QueryWalk w = query_walk(tiles, cyclic ? order.start(k) : i32(tiles.lo), 0, 1); !w.done(); w = w.next()) {
      walks[k].push_back(w.tile);
      turns[w.tile].push_back(order.turn(k, w.tile));
      if (order.last(k, w.tile)) lasts[w.tile].push_back(order.turn(k, w.tile));
    }
    EXPECT_EQ(i64(walks[k].size()), tiles.count());
  }
  for (i32 j = 0; j < order.q_tiles; ++j) {
    std::vector<i32> seen(turns[j].size());
    for (const i32 turn : turns[j]) {
      ASSERT_TRUE(turn >= 0 && turn < i32(seen.size())) << "query tile " << j << " turn " << turn;
      ++seen[turn];
    }
    for (const i32 n : seen) EXPECT_EQ(n, 1) << "query tile " << j;
    EXPECT_EQ(lasts[j], seen.empty() ? std::vector<i32>() : std::vector{i32(seen.size()) - 1}) << "query tile " << j;
    EXPECT_EQ(i64(seen.size()), key_tiles(i64(j) * rows, i64(j + 1) * rows, seqlen_q, seqlen_k, window, keys).count());
  }
  for (const i32 resident : {1, 2, 3, order.k_tiles}) {
    if (cyclic && resident != order.k_tiles) continue;
    EXPECT_TRUE(all_end(walks, order, resident)) << resident << " resident";
  }
}

TEST(DqOrder, TurnsAreARankAndNothingWaitsForEver) {
  for (i32 seqlen_q = 1; seqlen_q <= 41; seqlen_q += 3)
    for (i32 seqlen_k = 1; seqlen_k <= 61; seqlen_k += 4) {
      check(seqlen_q, seqlen_k, {}, false);
      check(seqlen_q, seqlen_k, {}, true);
      for (const i64 left : {i64(-9), i64(0), i64(5), i64(17), Window::unlimited})
        for (const i64 right : {i64(-6), i64(0), i64(3), i64(14), Window::unlimited}) check(seqlen_q, seqlen_k, {left, right}, false);
    }
}

}  // namespace
}  // namespace speedlight
