// The mask band against a predicate written from the words: key j is visible to row i when it lies within the window around i's diagonal.
#include "attention/band.h"
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <vector>
#include "problem/visible.h"

namespace speedlight {
namespace {

constexpr i64 longest = 40;

bool visible(i64 row, i64 key, i64 seqlen_q, i64 seqlen_k, Window w) {
  const i64 distance = key - (row + seqlen_k - seqlen_q);  // 0 on the bottom-right diagonal
  return ((w.left == Window::unlimited) | (distance >= -w.left)) & ((w.right == Window::unlimited) | (distance <= w.right));
}

std::vector<i64> bounds() {
  std::vector<i64> list{Window::unlimited};
  for (i64 b = -5; b <= 45; ++b) list.push_back(b);
  return list;
}

template <class F>
void for_every_window(F check) {
  for (const i64 left : bounds())
    for (const i64 right : bounds()) check(Window{left, right});
}

// One table of what is visible, rows by keys.
struct Table {
  i64 seqlen_q, seqlen_k;
  std::vector<char> cells;
  Table(i64 q, i64 k, Window w) : seqlen_q(q), seqlen_k(k), cells(std::size_t(q * k)) {
    for (i64 i = 0; i < q; ++i)
      for (i64 j = 0; j < k; ++j) cells[std::size_t(i * k + j)] = visible(i, j, q, k, w);
  }
  bool at(i64 i, i64 j) const { return cells[std::size_t(i * seqlen_k + j)]; }
  bool any(i64 row, i64 rows, i64 key, i64 keys) const {
    for (i64 i = row; i < std::min(row + rows, seqlen_q); ++i)
      for (i64 j = key; j < std::min(key + keys, seqlen_k); ++j)
        if (at(i, j)) return true;
    return false;
  }
};

// Number of cells where band() or its inverse disagrees with the predicate.
i64 disagreements(i64 seqlen_q, i64 seqlen_k, Window w) {
  std::array<Band, longest> rows;
  for (i64 j = 0; j < seqlen_k; ++j) rows[std::size_t(j)] = rows_that_see(j, seqlen_q, seqlen_k, w);
  i64 wrong = 0;
  for (i64 i = 0; i < seqlen_q; ++i) {
    const Band keys = band(i, seqlen_q, seqlen_k, w);
    wrong += keys.lo < 0 || keys.hi > seqlen_k || keys.lo > seqlen_k || keys.hi < 0;
    for (i64 j = 0; j < seqlen_k; ++j) {
      const bool want = visible(i, j, seqlen_q, seqlen_k, w);
      const Band& seen = rows[std::size_t(j)];
      wrong += ((j >= keys.lo) & (j < keys.hi)) != want;
      wrong += ((i >= seen.lo) & (i < seen.hi)) != want;
    }
  }
  return wrong;
}

TEST(Band, EqualsThePredicateForAllLengthsTo40AndWindowsFromMinus5To45) {
  for (i64 q = 0; q <= longest; ++q)
    for (i64 k = 0; k <= longest; ++k)
      for_every_window([&](Window w) {
        if (disagreements(q, k, w) != 0) FAIL() << "seqlen_q " << q << ", seqlen_k " << k << ", window " << w.left << ", " << w.right;
      });
}

TEST(Band, CountsPairsAndFullnessAsTheTableDoes) {
  for (i64 q = 0; q <= longest; q += 3)
    for (i64 k = 0; k <= longest; ++k)
      for_every_window([&](Window w) {
        const Table table(q, k, w);
        i64 pairs = 0;
        for (const char cell : table.cells) pairs += cell;
        ASSERT_EQ(visible_pairs(q, k, w), pairs) << q << " x " << k << ", window " << w.left << ", " << w.right;
        ASSERT_EQ(sees_everything(q, k, w), pairs == q * k) << q << " x " << k << ", window " << w.left << ", " << w.right;
      });
}

// The exact range of tiles that hold a visible pair; empty: {0, 0}.
template <class F>
TileRange brute(i64 tiles, F touches) {
  TileRange range{0, 0};
  for (i64 t = 0; t < tiles; ++t)
    if (touches(t)) range = {range.hi == 0 ? t : range.lo, t + 1};
  return range;
}

TEST(Band, TileRangesEqualBruteForce) {
  constexpr i64 row_tile = 8, key_tile = 5;
  for (i64 q = 1; q <= longest; q += 3)
    for (i64 k = 1; k <= longest; k += 2)
      for_every_window([&](Window w) {
        const Table table(q, k, w);
        for (i64 row = 0; row < q; row += row_tile) {
          const TileRange want = brute(ceil_div(k, key_tile), [&](i64 t) { return table.any(row, row_tile, t * key_tile, key_tile); });
          const TileRange got = key_tiles(row, row + row_tile, q, k, w, key_tile);
          ASSERT_TRUE(got.count() == want.count() && (want.count() == 0 || got.lo == want.lo))
              << q << " x " << k << ", window " << w.left << ", " << w.right << ", row " << row << ": [" << got.lo << ", " << got.hi
              << ") not [" << want.lo << ", " << want.hi << ")";
        }
        for (i64 key = 0; key < k; key += key_tile) {
          const TileRange want = brute(ceil_div(q, row_tile), [&](i64 t) { return table.any(t * row_tile, row_tile, key, key_tile); });
          const TileRange got = row_tiles(key, key + key_tile, q, k, w, row_tile);
          ASSERT_TRUE(got.count() == want.count() && (want.count() == 0 || got.lo == want.lo))
              << q << " x " << k << ", window " << w.left << ", " << w.right << ", key " << key;
        }
      });
}

TEST(Band, NothingOverflowsAtTheLargestLengths) {
  constexpr i64 n = (i64(1) << 30) - 1;
  EXPECT_EQ(visible_pairs(n, n, {}), n * n);
  EXPECT_EQ(visible_pairs(n, n, {Window::unlimited, 0}), n * (n + 1) / 2);
  EXPECT_EQ(visible_pairs(n, n, {Window::unlimited - 1, Window::unlimited - 1}), n * n);
  EXPECT_EQ(visible_pairs(n, n, {-Window::unlimited, -Window::unlimited}), 0);
  EXPECT_TRUE(sees_everything(n, 1, {n, Window::unlimited - 1}));
  EXPECT_FALSE(sees_everything(n, n, {Window::unlimited, n - 2}));
}

TEST(Band, SpellingsOfTheCausalMaskAgree) {
  for (const i64 s : {1, 127, 128, 129, 1000})
    for (i64 row = 0; row < s; ++row) {
      const Band plain = band(row, s, s, {Window::unlimited, 0});
      for (const i64 left : {s, s - 1}) {
        const Band other = band(row, s, s, {left, 0});
        EXPECT_TRUE(plain.lo == other.lo && plain.hi == other.hi);
      }
    }
}

}  // namespace
}  // namespace speedlight
