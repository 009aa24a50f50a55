// The mask band seen from a tile of keys x rows: which differences key - row are visible. 32-bit, for the inner loops; equal to band()
// together with key < seqlen_k and row < seqlen_q (tests/kernels/diagonals_test.cc).
#pragma once
#include "attention/band.h"

namespace speedlight {

struct Diagonals {
  i32 lo, hi;  // visible: lo <= key - row <= hi

  static constexpr Diagonals all() { return {-far, far}; }
  static constexpr i32 far = 1 << 30;  // beyond any difference, as lengths are below it

  // Keys [some_from, some_end) that some row of [row, row + rows) may see, and those [all_from, all_end) that all may; ends may cross. Rows
  // from seqlen_q on do not count; without any row there are no keys.
  struct Keys {
    i32 some_from, some_end, all_from, all_end;
  };
  constexpr Keys keys(i32 row, i32 rows, i32 seqlen_q, i32 seqlen_k) const {
    const i32 last = smaller(row + rows, seqlen_q) - 1;
    if (last < row || lo > hi) return {0, 0, 0, 0};
    return {larger(0, row + lo), smaller(seqlen_k, last + hi + 1), larger(0, last + lo), smaller(seqlen_k, row + hi + 1)};
  }

  // Some pair of keys [key, key + keys) and rows [row, row + rows) is visible.
  constexpr bool touch(i32 key, i32 keys, i32 row, i32 rows) const { return key + keys - 1 - row >= lo && key - (row + rows - 1) <= hi; }
  // Every such pair is.
  constexpr bool cover(i32 key, i32 keys, i32 row, i32 rows) const { return key - (row + rows - 1) >= lo && key + keys - 1 - row <= hi; }
};

constexpr Diagonals diagonals(i32 seqlen_q, i32 seqlen_k, Window w) {
  constexpr i64 far = Diagonals::far;
  const i64 diagonal = i64(seqlen_k) - seqlen_q;
  const i64 lo = w.left == Window::unlimited ? -far : larger(-far, smaller(far, diagonal - w.left));
  const i64 hi = w.right == Window::unlimited ? far : larger(-far, smaller(far, diagonal + w.right));
  return {i32(lo), i32(hi)};
}

}  // namespace speedlight
