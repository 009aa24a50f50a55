// The (query head, query tile) pairs that a block of keys meets: every query head of its group, and in each the tiles that see its keys, from
// one on to the last and then from the first.
#pragma once
#include "attention/band.h"

namespace speedlight {

struct QueryWalk {
  i32 first_tile, end_tile;  // of each head
  i32 start;
  i32 head, end_head;
  i32 tile;

  constexpr bool done() const { return head >= end_head; }
  constexpr QueryWalk next() const {
    QueryWalk w = *this;
    if (++w.tile >= end_tile) w.tile = first_tile;
    if (w.tile == start) ++w.head;
    return w;
  }
};

// No pairs at all when `tiles` is empty. `start` is one of the tiles.
constexpr QueryWalk query_walk(TileRange tiles, i32 start, i32 first_head, i32 heads) {
  const i32 lo = i32(tiles.lo), hi = i32(tiles.hi);
  return {lo, hi, start, first_head, lo < hi ? first_head + heads : first_head, start};
}

}  // namespace speedlight
