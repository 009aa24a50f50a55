// A tile of 16-bit elements, 32 or 64 columns wide, in shared memory: where accumulator-shaped fragments are written, to be read back in
// another order. 64 columns: the layout of one slab of tile::Swizzled.
#pragma once
#include "config/spec.h"
#include "ptx/matrix.h"
#include "ptx/shared.h"
#include "tile/operand_address.h"

namespace speedlight::tile {

// Rows of Cols * 2 bytes, one after another, whose 16-byte chunks are permuted by the row so that the eight rows of an 8x8 matrix lie in
// different banks. The tile starts at a multiple of 128 bytes.
template <i32 Cols>
struct NarrowTile {
  static_assert(Cols == 32 || Cols == 64);
  static constexpr i32 row_bytes = Cols * 2;

  static constexpr u32 offset(i32 row, i32 chunk) {
    const i32 phase = Cols == 64 ? row & 7 : row >> 1 & 3;
    return u32(row * row_bytes + ((chunk ^ phase) << 4));
  }
  // Byte offset of this lane's row of the 16 x 16 block in columns 16 * col_block.
  template <Walk W>
  static constexpr u32 lane_offset(i32 lane, i32 col_block) {
    return W == Walk::down ? offset(lane % 16, col_block * 2 + lane / 16) : offset(lane / 16 * 8 + lane % 8, col_block * 2 + lane / 8 % 2);
  }
  // `base` (made from column block c) moved down by row_block and, where c and col_block have no bit in common, right by col_block.
  static constexpr ptx::SharedAddress block(ptx::SharedAddress base, i32 row_block, i32 col_block) {
    return (base ^ u32(col_block << 5)) + u32(row_block * 16 * row_bytes);
  }
};

// Writes 16 x 16 fragments (a left operand's words) of the dtype into a NarrowTile.
template <MatrixStore Store, i32 Cols>
struct FragmentWriter {
  using Tile = NarrowTile<Cols>;

  // Of this lane, to be added to the address of the rows.
  static constexpr u32 lane_offset(i32 lane) {
    return Store == MatrixStore::stmatrix ? Tile::template lane_offset<Walk::down>(lane, 0) : Tile::offset(lane / 4, 0) + u32(lane % 4 * 4);
  }
  static void write(ptx::SharedAddress base, i32 row_block, i32 col_block, const u32 (&words)[4]) {
    const ptx::SharedAddress left = Tile::block(base, row_block, col_block);
    if constexpr (Store == MatrixStore::stmatrix) {
      ptx::stmatrix_x4(left, words);
    } else {
      const ptx::SharedAddress right = left ^ 16;
      ptx::store_shared_32(left, words[0]);
      ptx::store_shared_32(left + 8 * Tile::row_bytes, words[1]);
      ptx::store_shared_32(right, words[2]);
      ptx::store_shared_32(right + 8 * Tile::row_bytes, words[3]);
    }
  }
};

}  // namespace speedlight::tile
