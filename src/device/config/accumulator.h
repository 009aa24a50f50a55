// The fp32 dQ accumulator: its layout is a type shared by the backward kernel that adds to it and the postprocess that reads it.
#pragma once
#include "base/types.h"

namespace speedlight {

// A tile of `rows` x `cols` floats is cut among `warps_m` x `warps_n` warps; a warp owns (rows / warps_m) x (cols / warps_n), as 16 x 8
// mma accumulator fragments. Element order: warp, then m fragment, then n fragment, then lane, then the lane's 4 values, so that a warp's
// add of one fragment is 512 contiguous bytes. Tiles follow one another by q tile, then head, then batch:
// tile index = (batch * heads_q + head) * q_tiles + q_tile.
struct DqLayout {
  u16 rows = 64, cols = 64;
  u8 warps_m = 1, warps_n = 1;
  constexpr bool operator==(const DqLayout&) const = default;

  constexpr i32 warp_rows() const { return rows / warps_m; }
  constexpr i32 warp_cols() const { return cols / warps_n; }
  constexpr i32 fragments_m() const { return warp_rows() / 16; }
  constexpr i32 fragments_n() const { return warp_cols() / 8; }
  constexpr i64 tile_floats() const { return i64(rows) * cols; }
  // Offset in floats, inside the tile, of the four values of `lane` in fragment (m, n) of `warp` (= warp_m * warps_n + warp_n).
  constexpr i32 offset(i32 warp, i32 m, i32 n, i32 lane) const {
    return (((warp * fragments_m() + m) * fragments_n() + n) * 32 + lane) * 4;
  }
  // The inverse: row and column of value 0 of the quad that starts at float 4 * quad. Values 0, 1 are (row, col), (row, col + 1);
  // values 2, 3 are (row + 8, col), (row + 8, col + 1).
  struct Place {
    i32 row, col;
  };
  constexpr Place place(i32 quad) const {
    const i32 lane = quad % 32, n = quad / 32 % fragments_n(), m = quad / (32 * fragments_n()) % fragments_m(),
              warp = quad / (32 * fragments_n() * fragments_m());
    return {warp / warps_n * warp_rows() + m * 16 + lane / 4, warp % warps_n * warp_cols() + n * 8 + lane % 4 * 2};
  }
};

}  // namespace speedlight
