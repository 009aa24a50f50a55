// The mask band: which keys a query row may see. The only definition; host planning, every kernel, the CPU backend and the tests use it.
#pragma once
#include "base/types.h"

namespace speedlight {

// Window ends relative to the bottom-right diagonal, both inclusive; `unlimited` is the only value that means "no bound".
// No mask: {unlimited, unlimited}. Causal: {unlimited, 0}. A window of W earlier keys: {W, 0}. Values may be negative.
struct Window {
  static constexpr i64 unlimited = i64(1) << 62;
  i64 left = unlimited;
  i64 right = unlimited;
  constexpr bool operator==(const Window&) const = default;
};

struct Band {
  i64 lo;  // first visible key
  i64 hi;  // one past the last visible key; hi <= lo: the row sees nothing
  constexpr bool empty() const { return hi <= lo; }
};

// Keys [lo, hi) that query `row` (0 <= row < seqlen_q) may see. Monotone in `row`: neither end ever decreases.
constexpr Band band(i64 row, i64 seqlen_q, i64 seqlen_k, Window w) {
  const i64 diagonal = row + seqlen_k - seqlen_q;
  const i64 lo = w.left == Window::unlimited ? 0 : larger<i64>(0, diagonal - w.left);
  const i64 hi = w.right == Window::unlimited ? seqlen_k : smaller<i64>(seqlen_k, diagonal + w.right + 1);
  return {smaller(lo, seqlen_k), larger<i64>(0, hi)};
}

// Query rows [lo, hi) that may see `key`: the inverse of band().
constexpr Band rows_that_see(i64 key, i64 seqlen_q, i64 seqlen_k, Window w) {
  const i64 diagonal = key - seqlen_k + seqlen_q;  // the row whose diagonal is this key
  const i64 lo = w.right == Window::unlimited ? 0 : larger<i64>(0, diagonal - w.right);
  const i64 hi = w.left == Window::unlimited ? seqlen_q : smaller<i64>(seqlen_q, diagonal + w.left + 1);
  return {smaller(lo, seqlen_q), larger<i64>(0, hi)};
}

// True when the ends cross, so that no row sees any key whatever the lengths.
constexpr bool sees_nothing(Window w) { return w.left != Window::unlimited && w.right != Window::unlimited && w.left + w.right < 0; }

// Range of tile indices [lo, hi) that a tile's band touches.
struct TileRange {
  i64 lo, hi;
  constexpr i64 count() const { return hi > lo ? hi - lo : 0; }
};

// Key tiles (of `key_tile` keys) that some row of [row_begin, row_end) may see; row_end is clipped to seqlen_q.
constexpr TileRange key_tiles(i64 row_begin, i64 row_end, i64 seqlen_q, i64 seqlen_k, Window w, i64 key_tile) {
  row_end = smaller(row_end, seqlen_q);
  if (row_begin >= row_end || sees_nothing(w)) return {0, 0};
  const i64 lo = band(row_begin, seqlen_q, seqlen_k, w).lo, hi = band(row_end - 1, seqlen_q, seqlen_k, w).hi;
  return hi <= lo ? TileRange{0, 0} : TileRange{lo / key_tile, ceil_div(hi, key_tile)};
}

// Query tiles (of `row_tile` rows) that some key of [key_begin, key_end) is seen by; key_end is clipped to seqlen_k.
constexpr TileRange row_tiles(i64 key_begin, i64 key_end, i64 seqlen_q, i64 seqlen_k, Window w, i64 row_tile) {
  key_end = smaller(key_end, seqlen_k);
  if (key_begin >= key_end || sees_nothing(w)) return {0, 0};
  const i64 lo = rows_that_see(key_begin, seqlen_q, seqlen_k, w).lo, hi = rows_that_see(key_end - 1, seqlen_q, seqlen_k, w).hi;
  return hi <= lo ? TileRange{0, 0} : TileRange{lo / row_tile, ceil_div(hi, row_tile)};
}

}  // namespace speedlight
