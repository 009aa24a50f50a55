// Products of a register operand with a swizzled tile in shared memory, on the tensor cores.
#pragma once
#include "ptx/math.h"
#include "ptx/matrix.h"
#include "ptx/mma.h"
#include "tile/fragment.h"
#include "tile/operand_address.h"

namespace speedlight::tile {

// Addresses of shared operands may be a SharedAddress (lane offset added) or a LaneAddress.

struct Nothing {
  void operator()(i32) const {}
};

// D += A B^T, where B is 8 N rows of a tile stored [n][k]: scores from queries and keys. `b` is the address of the first row plus
// lane_offset<Walk::across>. `between(k)` runs after the products of each 16 columns: work to be scheduled beside them.
template <DType T, class Tile, i32 K, i32 M, i32 N, class Between = Nothing>
inline void multiply_transposed(Accumulator<M, N>& d, const Operand<K, M>& a, auto b, Between between = {}) {
#pragma unroll
  for (i32 k = 0; k < K; ++k) {
    u32 f[N / 2][4];
#pragma unroll
    for (i32 n = 0; n < N / 2; ++n) ptx::ldmatrix_x4(f[n], block_address<Tile>(b, n, k));
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 n = 0; n < N / 2; ++n) {
        ptx::mma_16816<T>(d.x[m][2 * n], a.x[k][m], f[n][0], f[n][1]);
        ptx::mma_16816<T>(d.x[m][2 * n + 1], a.x[k][m], f[n][2], f[n][3]);
      }
    between(k);
  }
}

// D += A B, where B is 16 K rows x 8 N columns of a tile stored [k][n]: output from probabilities and values. `b` is the address of the first
// row plus lane_offset<Walk::down>.
template <DType T, class Tile, i32 K, i32 M, i32 N>
inline void multiply(Accumulator<M, N>& d, const Operand<K, M>& a, auto b) {
  static_assert(N % 4 == 0);
#pragma unroll
  for (i32 k = 0; k < K; ++k)
#pragma unroll
    for (i32 pair = 0; pair < N / 4; ++pair) {  // two blocks of 16 columns at a time: fragments ahead of their use, few registers
      u32 f[2][4];
#pragma unroll
      for (i32 i = 0; i < 2; ++i) ptx::ldmatrix_x4_transposed(f[i], block_address<Tile>(b, k, 2 * pair + i));
#pragma unroll
      for (i32 m = 0; m < M; ++m)
#pragma unroll
        for (i32 i = 0; i < 2; ++i) {
          ptx::mma_16816<T>(d.x[m][4 * pair + 2 * i], a.x[k][m], f[i][0], f[i][1]);
          ptx::mma_16816<T>(d.x[m][4 * pair + 2 * i + 1], a.x[k][m], f[i][2], f[i][3]);
        }
    }
}

// The accumulator as the left operand of the next product (its 16 x 16 blocks become k16 steps), rounded to T.
template <DType T, i32 M, i32 N>
inline void to_operand(Operand<N / 2, M>& a, const Accumulator<M, N>& d) {
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 n = 0; n < N; ++n)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) a.x[n / 2][m][n % 2 * 2 + half] = ptx::pack<T>(d.x[m][n][2 * half], d.x[m][n][2 * half + 1]);
}

}  // namespace speedlight::tile
