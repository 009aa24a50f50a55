// Addresses for ldmatrix: four 8x8 matrices make one 16 x 16 block of a swizzled tile.
#pragma once
#include "ptx/thread.h"

namespace speedlight::tile {

// The order in which ldmatrix's matrices 0..3 cover a 16 x 16 block:
//   down:   0 top left, 1 bottom left, 2 top right, 3 bottom right. A left operand stored [m][k]; a right operand stored [k][n] (transposed load).
//   across: 0 top left, 1 top right, 2 bottom left, 3 bottom right. A right operand stored [n][k]; a left operand stored [k][m] (transposed load).
enum class Walk : u8 { down, across };

// Byte offset of this lane's row in the block at a tile's top left corner.
template <Walk W>
constexpr u32 lane_offset(i32 lane) {
  const i32 row = W == Walk::down ? lane % 16 : lane / 16 * 8 + lane % 8;
  const i32 chunk = W == Walk::down ? lane / 16 : lane / 8 % 2;
  return u32(row * 128 + ((chunk ^ (row % 8)) << 4));
}

// Address of the lane's row in block (row_block, col_block), both in units of 16 elements; `base` is the tile's (1024-byte aligned) address,
// or that of a multiple of 8 rows below it, plus lane_offset. The column enters by XOR, so constant blocks cost at most one operation.
template <class Tile>
constexpr ptx::SharedAddress block_address(ptx::SharedAddress base, i32 row_block, i32 col_block) {
  return (base ^ u32(col_block % 4 << 5)) + u32(col_block / 4 * Tile::slab_bytes + row_block * 2048);
}

// A tile and a lane offset kept apart: the XOR then touches the lane offset alone, and its results serve every tile that is read alike.
// `lane` may also hold a multiple of 8 rows.
struct LaneAddress {
  ptx::SharedAddress tile;
  u32 lane;
};
template <class Tile>
constexpr ptx::SharedAddress block_address(LaneAddress base, i32 row_block, i32 col_block) {
  return block_address<Tile>(base.lane, 0, col_block % 4) + (base.tile + u32(col_block / 4 * Tile::slab_bytes + row_block * 2048));
}

}  // namespace speedlight::tile
