// The tile view of the mask band must agree with the band itself.
#include "attention/diagonals.h"

#include <gtest/gtest.h>

#include "attention/query_walk.h"

namespace speedlight {
namespace {

const Window windows[] = {{},
                          {Window::unlimited, 0},
                          {0, 0},
                          {3, Window::unlimited},
                          {2, 5},
                          {-2, 4},
                          {7, -3},
                          {Window::unlimited, -20},
                          {i64(1) << 40, i64(1) << 40}};

bool visible(i32 key, i32 row, i32 seqlen_q, i32 seqlen_k, Window w) {
  const Band b = band(row, seqlen_q, seqlen_k, w);
  return key >= b.lo && key < b.hi;
}

// The keys that matter to rows [row_begin, row_end), row_end clipped to seqlen_q: `some` rows may see [some.lo, some.hi), all rows see every key
// of [all.lo, all.hi).
struct KeySpan {
  Band some, all;
};
constexpr KeySpan key_span(i64 row_begin, i64 row_end, i64 seqlen_q, i64 seqlen_k, Window w) {
  row_end = smaller(row_end, seqlen_q);
  if (row_begin >= row_end) return {{0, 0}, {0, 0}};
  const Band first = band(row_begin, seqlen_q, seqlen_k, w), last = band(row_end - 1, seqlen_q, seqlen_k, w);
  return {{first.lo, last.hi}, {last.lo, first.hi}};
}

TEST(Diagonals, AgreeWithTheBand) {
  for (const Window& w : windows)
    for (i32 sq = 1; sq <= 12; ++sq)
      for (i32 sk = 1; sk <= 12; ++sk) {
        const Diagonals d = diagonals(sq, sk, w);
        for (i32 row = 0; row < sq; ++row)
          for (i32 key = 0; key < sk; ++key)
            ASSERT_EQ(d.lo <= key - row && key - row <= d.hi, visible(key, row, sq, sk, w)) << sq << ' ' << sk << ' ' << row << ' ' << key;
      }
}

TEST(Diagonals, KeysOfATileOfRows) {
  for (const Window& w : windows)
    for (i32 sq : {0, 1, 9, 16})
      for (i32 sk : {0, 1, 9, 16})
        for (i32 row = 0; row < 20; ++row) {
          const KeySpan expected = key_span(row, row + 4, sq, sk, w);
          const Diagonals::Keys keys = diagonals(sq, sk, w).keys(row, 4, sq, sk);
          const bool nothing = sees_nothing(w) || expected.some.empty();
          ASSERT_EQ(keys.some_from >= keys.some_end, nothing) << sq << ' ' << sk << ' ' << row;
          if (!nothing) {
            ASSERT_EQ(keys.some_from, expected.some.lo);
            ASSERT_EQ(keys.some_end, expected.some.hi);
          }
          ASSERT_EQ(keys.all_from >= keys.all_end, sees_nothing(w) || expected.all.empty());
          if (keys.all_from < keys.all_end) {
            ASSERT_EQ(keys.all_from, expected.all.lo);
            ASSERT_EQ(keys.all_end, expected.all.hi);
          }
        }
  constexpr i32 longest = (1 << 30) - 1;  // no overflow at the far end
  constexpr Diagonals everything = diagonals(longest, longest, Window{});
  static_assert(everything.keys(longest - 1, 256, longest, longest).all_end == longest);
}

TEST(Diagonals, TouchAndCoverATile) {
  for (const Window& w : windows)
    for (i32 sq : {9, 16})
      for (i32 sk : {9, 16}) {
        const Diagonals d = diagonals(sq, sk, w);
        for (i32 key = 0; key + 4 <= sk; ++key)
          for (i32 row = 0; row + 3 <= sq; ++row) {
            i32 seen = 0;
            for (i32 k = key; k < key + 4; ++k)
              for (i32 r = row; r < row + 3; ++r) seen += visible(k, r, sq, sk, w);
            ASSERT_EQ(d.touch(key, 4, row, 3), seen > 0);
            ASSERT_EQ(d.cover(key, 4, row, 3), seen == 12);
          }
      }
}

TEST(QueryWalk, VisitsEveryTileOfEveryHeadOfTheGroup) {
  for (const i32 start : {2, 3, 4}) {  // cyclic: from `start` to the end, then what was left out
    QueryWalk w = query_walk({2, 5}, start, 6, 3);
    for (i32 head = 6; head < 9; ++head) {
      for (i32 step = 0; step < 3; ++step, w = w.next()) {
        ASSERT_FALSE(w.done());
        ASSERT_EQ(w.head, head);
        ASSERT_EQ(w.tile, 2 + (start - 2 + step) % 3);
      }
    }
    EXPECT_TRUE(w.done());
  }
  EXPECT_TRUE(query_walk({3, 3}, 3, 0, 4).done());
}

}  // namespace
}  // namespace speedlight
