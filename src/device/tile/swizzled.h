// Tiles of 16-bit elements in shared memory: slabs of 64 columns (128 bytes), 128-byte swizzle, as bulk tensor copies write them.
#pragma once
#include "base/types.h"

namespace speedlight::tile {

// Rows x Cols elements at a 1024-byte aligned address. A slab holds 64 columns of all rows; inside a slab, the 16-byte chunk c of row r lies
// at chunk c ^ (r % 8), so that eight rows' equal chunks fall in eight different bank groups.
template <i32 Rows, i32 Cols>
struct Swizzled {
  static_assert(Rows % 8 == 0 && Cols % 64 == 0);
  static constexpr i32 rows = Rows, cols = Cols, slabs = Cols / 64, slab_bytes = Rows * 128, bytes = slabs * slab_bytes;

  // Byte offset of the 16-byte chunk (8 elements) number `chunk` of `row`.
  static constexpr u32 offset(i32 row, i32 chunk) { return u32(chunk / 8 * slab_bytes + row * 128 + ((chunk % 8) ^ (row % 8)) * 16); }
};

}  // namespace speedlight::tile
