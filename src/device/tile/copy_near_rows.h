// Tiles from global to shared memory inside a loop that has no registers to spare.
#pragma once
#include "ptx/cp_async.h"
#include "tile/swizzled.h"

namespace speedlight::tile {

// As copy_rows, for `data` that points to the tile's first row and `rows` of its rows that exist: offsets inside the tile are 32-bit, unless
// the stride is too large for that.
template <class Tile, i32 Threads>
inline void copy_near_rows(ptx::SharedAddress to, const char* data, i64 row_stride, i32 rows, i32 thread) {
  constexpr i32 chunks = Tile::cols / 8, total = Tile::rows * chunks;
  static_assert(Threads % (8 * chunks) == 0 && total % Threads == 0);
  constexpr i32 rows_at_once = Threads / chunks;  // a multiple of 8: the swizzle is that of the thread's first row
  const i32 row = thread / chunks, chunk = thread % chunks;
  const ptx::SharedAddress first = to + Tile::offset(row, chunk);
  if (u64(row_stride) >= (u64(1) << 31) / Tile::rows) {
#pragma unroll 1
    for (i32 i = 0; i < Tile::rows / rows_at_once; ++i) {
      const i32 r = row + i * rows_at_once;
      ptx::cp_async_16(first + u32(i * rows_at_once * 128), data + (r * row_stride + chunk * 8) * 2, r < rows);
    }
    return;
  }
  const u32 stride = u32(row_stride) * 2;  // bytes
  const char* from = data + (u32(row) * stride + u32(chunk * 16));
#pragma unroll
  for (i32 i = 0; i < Tile::rows / rows_at_once; ++i) {
    ptx::cp_async_16(first + u32(i * rows_at_once * 128), from, row + i * rows_at_once < rows);
    from += rows_at_once * stride;
  }
}

}  // namespace speedlight::tile
