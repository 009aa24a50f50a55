// The mask band seen from a tile of keys x rows: which differences key - row are visible. 32-bit, for the inner loops; equal to band()
// together with key < seqlen_k and row < seqlen_q (tests/kernels/diagonals_test.cc).
#pragma once
#include "attention/band.h"

namespace speedlight {

struct Diagonals {
  i32 lo, hi;  // visible: lo <= key - row <= hi

  // Some pair of keys [key, key + keys) and rows [row, row + rows) is visible.
  constexpr bool touch(i32 key, i32 keys, i32 row, i32 rows) const { return key + keys - 1 - row >= lo && key - (row + rows - 1) <= hi; }
  // Every such pair is.
  constexpr bool cover(i32 key, i32 keys, i32 row, i32 rows) const { return key - (row + rows - 1) >= lo && key + keys - 1 - row <= hi; }
};

constexpr Diagonals diagonals(i32 seqlen_q, i32 seqlen_k, Window w) {
  constexpr i64 far = i64(1) << 30;  // beyond any difference, as lengths are below it
  const i64 diagonal = i64(seqlen_k) - seqlen_q;
  const i64 lo = w.left == Window::unlimited ? -far : larger(-far, smaller(far, diagonal - w.left));
  const i64 hi = w.right == Window::unlimited ? far : larger(-far, smaller(far, diagonal + w.right));
  return {i32(lo), i32(hi)};
}

}  // namespace speedlight
