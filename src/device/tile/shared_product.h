// Products of two operands that both lie in shared memory.
#pragma once
#include "tile/narrow_tile.h"
#include "tile/product.h"

namespace speedlight::tile {

// D += A B^T over 16 K columns of both: A is 16 M rows of TileA at `a` (plus lane_offset<Walk::down>), B is 8 N rows of TileB at `b` (plus
// lane_offset<Walk::across>).
template <DType T, class TileA, class TileB, i32 K, i32 M, i32 N>
inline void multiply_transposed_shared(Accumulator<M, N>& d, auto a, auto b) {
#pragma unroll
  for (i32 k = 0; k < K; ++k) {
    u32 fa[M][4];
#pragma unroll
    for (i32 m = 0; m < M; ++m) ptx::ldmatrix_x4(fa[m], block_address<TileA>(a, m, k));
#pragma unroll
    for (i32 n = 0; n < N / 2; ++n) {
      u32 fb[4];
      ptx::ldmatrix_x4(fb, block_address<TileB>(b, n, k));
#pragma unroll
      for (i32 m = 0; m < M; ++m) {
        ptx::mma_16816<T>(d.x[m][2 * n], fa[m], fb[0], fb[1]);
        ptx::mma_16816<T>(d.x[m][2 * n + 1], fa[m], fb[2], fb[3]);
      }
    }
  }
}

// D += A^T B over 16 rows of both: A is 16 M columns of a NarrowTile at `a` (plus lane_offset<Walk::across>), B is 8 N columns of TileB at
// `b` (plus lane_offset<Walk::down>).
template <DType T, i32 ColsA, class TileB, i32 M, i32 N>
inline void multiply_left_transposed(Accumulator<M, N>& d, ptx::SharedAddress a, auto b) {
  u32 fa[M][4];
#pragma unroll
  for (i32 m = 0; m < M; ++m) ptx::ldmatrix_x4_transposed(fa[m], NarrowTile<ColsA>::block(a, 0, m));
#pragma unroll
  for (i32 n = 0; n < N / 2; ++n) {
    u32 fb[4];
    ptx::ldmatrix_x4_transposed(fb, block_address<TileB>(b, 0, n));
#pragma unroll
    for (i32 m = 0; m < M; ++m) {
      ptx::mma_16816<T>(d.x[m][2 * n], fa[m], fb[0], fb[1]);
      ptx::mma_16816<T>(d.x[m][2 * n + 1], fa[m], fb[2], fb[3]);
    }
  }
}

}  // namespace speedlight::tile
