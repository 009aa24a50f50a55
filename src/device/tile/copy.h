// Tiles of 16-bit elements from global to shared memory.
#pragma once
#include "ptx/bulk.h"
#include "ptx/cp_async.h"
#include "ptx/mbarrier.h"
#include "tile/swizzled.h"

namespace speedlight::tile {

// `Threads` threads copy Tile::rows rows to `to` by cp.async (not committed). Row r of the tile is at data + (first_row + r) * row_stride
// elements of 16 bits; rows at or beyond `row_end` arrive as zeros and are not read. `thread` counts from 0 to Threads - 1.
template <class Tile, i32 Threads>
inline void copy_rows(ptx::SharedAddress to, const void* data, i64 row_stride, i64 first_row, i64 row_end, i32 thread) {
  constexpr i32 chunks = Tile::cols / 8, total = Tile::rows * chunks;
  static_assert(Threads % chunks == 0 && total % Threads == 0);
  constexpr i32 rows_at_once = Threads / chunks;
  const i32 row = thread / chunks, chunk = thread % chunks;
  const char* from = static_cast<const char*>(data) + ((first_row + row) * row_stride + chunk * 8) * 2;
#pragma unroll
  for (i32 i = 0; i < Tile::rows / rows_at_once; ++i) {
    const i32 r = row + i * rows_at_once;
    ptx::cp_async_16(to + Tile::offset(r, chunk), from + i64(i) * rows_at_once * row_stride * 2, first_row + r < row_end);
  }
}

// One thread copies a tile by bulk tensor copies of 64 x Tile::rows boxes; rows beyond the tensor arrive as zeros. Tile::bytes count towards
// the barrier.
template <class Tile>
inline void copy_box(ptx::SharedAddress to, const TensorMap& map, i32 row, i32 head, i32 batch, ptx::SharedAddress barrier) {
#pragma unroll
  for (i32 slab = 0; slab < Tile::slabs; ++slab)
    ptx::bulk_tensor_4d(to + u32(slab * Tile::slab_bytes), map, slab * 64, row, head, batch, barrier);
}

}  // namespace speedlight::tile
