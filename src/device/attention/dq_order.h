// The order in which tiles of keys add their parts of a query tile's dQ: a function of lengths, mask and tile sizes alone, so that results do
// not depend on timing, on the card's size or on what else is in the batch.
#pragma once
#include "attention/diagonals.h"

namespace speedlight {

// A tile of keys walks its query tiles upwards, from the first that sees it; `cyclic` (no mask only): from its own place on, round the end.
// It adds to a query tile at its *turn*: the number of key tiles that come earlier. That is the order in which key tiles that start together
// reach the query tile, and of two that reach it together the later key tile comes first:
//   upwards, key tile k starts at first(k), which never decreases, and reaches query tile j after j - first(k) steps: descending k.
//   cyclic, it starts at start(k), which never decreases either: descending k from the last k with start(k) <= j, then from the last of all.
// So a part waits only for parts that are done at earlier steps, or at the same step by later key tiles: no circle of waits is possible.
//
// Forward progress. Blocks take items from a counter as they start, the last key tile of a (batch, kv head) first, so a block that has started
// never waits for one of a later head.
//   Upwards it waits for later key tiles of its own head: for blocks that started before it. The first of those that run waits for nothing,
//   so it ends, and so on: nothing is asked of the card.
//   Cyclic, it may wait for any key tile of its head, so these must be able to run together. `plan` takes it only where the card holds twice
//   as many blocks (of any one kernel); then even two such launches side by side cannot fill the card with blocks that wait for others that
//   have not started: of the first unfinished head of each at least one has not started, so each holds less than half of the card.
template <i32 Keys, i32 Rows>
struct DqOrder {
  static_assert(Keys % Rows == 0);
  i32 k_tiles, q_tiles, seqlen_q;
  Diagonals visible;
  bool cyclic;

  // Where key tile k starts when cyclic.
  constexpr i32 start(i32 k) const { return smaller(k, (q_tiles - 1) / (Keys / Rows)) * (Keys / Rows); }
  // The key tile whose part of query tile j comes first.
  constexpr i32 first_adder(i32 j) const {
    if (cyclic) return j / (Keys / Rows) == (q_tiles - 1) / (Keys / Rows) ? k_tiles - 1 : smaller(j / (Keys / Rows), k_tiles - 1);
    return smaller(k_tiles - 1, (smaller((j + 1) * Rows, seqlen_q) - 1 + visible.hi) / Keys);
  }
  // Of key tile k, which sees query tile j.
  constexpr i32 turn(i32 k, i32 j) const {
    const i32 behind = first_adder(j) - k;
    return behind < 0 ? behind + k_tiles : behind;
  }
  // Whether key tile k, which sees query tile j, is the last that does in this order: the part that finds all others there.
  constexpr bool last(i32 k, i32 j) const { return cyclic ? turn(k, j) == k_tiles - 1 : k == larger(0, j * Rows + visible.lo) / Keys; }
};

}  // namespace speedlight
