// Probabilities and their gradients of one warp: fragments of S^T and dP^T, keys by rows.
#pragma once
#include "kernels/backward_context.h"
#include "ptx/math.h"

namespace speedlight::kernels {

// Which pairs of a warp's keys and a tile's rows are visible, at this lane's places of the fragments. Keys that do not exist count as others:
// their K and V are zeros, and exponentiate makes their P zero.
template <BackwardConfig C>
struct PairMask {
  using G = BackwardGeometry<C>;

  // `first_row`: the row of column 0.
  PairMask(const BackwardContext<C>& context, i32 first_row) {
    const i32 lane = G::split ? ptx::lane_index() : context.lane;  // which spills less
    const i32 difference = context.first_key + context.warp_first_key + tile::lane_row(lane) - (first_row + tile::lane_col(lane));
    above_lo = difference - context.visible.lo;
    below_hi = context.visible.hi - difference;
  }

  bool sees(i32 m, i32 n, i32 x) const {
    const i32 step = m * 16 + (x >> 1) * 8 - n * 8 - (x & 1);  // key - row, relative to this lane's first place
    return above_lo >= -step && below_hi >= step;
  }

 private:
  i32 above_lo, below_hi;
};

// dP^T starts as dLSE - delta of its row, so that the product leaves dP - delta + dLSE.
template <i32 M, i32 N>
inline void start_from_row_delta(tile::Accumulator<M, N>& dp, ptx::SharedAddress row_delta, i32 lane) {
#pragma unroll
  for (i32 n = 0; n < N; ++n) {
    const ptx::Floats2 d = ptx::load_shared_float2(row_delta + u32((n * 8 + tile::lane_col(lane)) * 4));
#pragma unroll
    for (i32 m = 0; m < M; ++m) {
      dp.x[m][n][0] = dp.x[m][n][2] = d.x;
      dp.x[m][n][1] = dp.x[m][n][3] = d.y;
    }
  }
}

// S^T becomes P^T. The bound of 1 keeps gradients finite where a huge logit and its LSE were rounded apart. WholeKeys: all of the block's keys
// exist.
template <bool WholeKeys, BackwardConfig C, i32 M, i32 N>
inline void exponentiate(tile::Accumulator<M, N>& s, const BackwardContext<C>& context, ptx::SharedAddress row_lse2) {
  float bound[M][2];
  if constexpr (!WholeKeys) context.probability_bound(bound);
#pragma unroll
  for (i32 n = 0; n < N; ++n) {
    const ptx::Floats2 lse = ptx::load_shared_float2(row_lse2 + u32((n * 8 + tile::lane_col(context.lane)) * 4));
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 x = 0; x < 4; ++x) {
        const float difference = ptx::fma(s.x[m][n][x], context.params.scale_log2, x & 1 ? -lse.y : -lse.x);
        s.x[m][n][x] = ptx::minimum(ptx::exp2(difference), WholeKeys ? 1.0f : bound[m][x >> 1]);
      }
  }
}

// Zeroes the pairs that are not visible, whatever they hold.
template <BackwardConfig C, i32 M, i32 N>
inline void erase_invisible(tile::Accumulator<M, N>& values, const PairMask<C>& mask) {
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 n = 0; n < N; ++n)
#pragma unroll
      for (i32 x = 0; x < 4; ++x) values.x[m][n][x] = mask.sees(m, n, x) ? values.x[m][n][x] : 0.0f;
}

}  // namespace speedlight::kernels
