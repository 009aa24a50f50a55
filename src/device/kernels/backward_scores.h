// Probabilities and their gradients of one warp: fragments of S^T and dP^T, keys by rows.
#pragma once
#include "kernels/backward_context.h"

namespace speedlight::kernels {

// Which pairs of a warp's keys and a tile's rows are visible, at this lane's places of the fragments.
template <BackwardConfig C>
struct PairMask {
  using G = BackwardGeometry<C>;

  // `first_row`: the row of column 0.
  PairMask(const BackwardContext<C>& context, i32 first_row) {
    const i32 key = context.first_key + context.warp_first_key + tile::lane_row(context.lane);
    const i32 difference = key - (first_row + tile::lane_col(context.lane));
    above_lo = difference - context.visible.lo;
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half)
        below_hi[m][half] = key + m * 16 + half * 8 < context.params.shape.seqlen_k ? context.visible.hi - difference : never;
  }

  bool sees(i32 m, i32 n, i32 x) const {
    const i32 step = m * 16 + (x >> 1) * 8 - n * 8 - (x & 1);  // key - row, relative to this lane's first place
    if constexpr (C.spec.mask == MaskKind::none) return below_hi[m][x >> 1] != never;
    return above_lo >= -step && below_hi[m][x >> 1] >= step;
  }

 private:
  static constexpr i32 never = -(i32(1) << 30) - (i32(1) << 20);
  i32 above_lo;
  i32 below_hi[G::key_blocks][2];
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

// S^T becomes P^T. The clamp keeps gradients finite where a huge logit and its LSE were rounded apart.
template <i32 M, i32 N>
inline void exponentiate(tile::Accumulator<M, N>& s, float scale_log2, ptx::SharedAddress row_lse2, i32 lane) {
#pragma unroll
  for (i32 n = 0; n < N; ++n) {
    const ptx::Floats2 lse = ptx::load_shared_float2(row_lse2 + u32((n * 8 + tile::lane_col(lane)) * 4));
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 x = 0; x < 4; ++x) s.x[m][n][x] = ptx::minimum(ptx::exp2(ptx::fma(s.x[m][n][x], scale_log2, x & 1 ? -lse.y : -lse.x)), 1.0f);
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
