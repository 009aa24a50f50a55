// Masked scores: scaled, and -inf where a row may not see the key.
#pragma once
#include "attention/band.h"
#include "config/params.h"
#include "ptx/math.h"
#include "tile/fragment.h"

namespace speedlight {

// Scales the scores of rows from `row` on and keys from `key` on; masked and out-of-range keys become -inf whatever they were.
template <MaskKind Kind, i32 M, i32 N>
inline void scale_and_mask(tile::Accumulator<M, N>& s, float scale_log2, i64 row, i64 key, i32 lane, const AttentionShape& shape, const Window& window) {
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      Band b{0, shape.seqlen_k};
      if constexpr (Kind == MaskKind::band) b = band(row + m * 16 + half * 8 + tile::lane_row(lane), shape.seqlen_q, shape.seqlen_k, window);
      // 32 bits from here: relative to this lane's first key, clipped to what 8 N keys can tell apart.
      const i64 first = key + tile::lane_col(lane);
      const i32 lo = i32(smaller<i64>(larger<i64>(b.lo - first, -8 * N), 8 * N)), hi = i32(smaller<i64>(larger<i64>(b.hi - first, -8 * N), 8 * N));
#pragma unroll
      for (i32 n = 0; n < N; ++n)
#pragma unroll
        for (i32 i = 0; i < 2; ++i) {
          const bool visible = n * 8 + i >= lo && n * 8 + i < hi;
          float& x = s.x[m][n][2 * half + i];
          x = visible ? ptx::multiply(x, scale_log2) : -ptx::infinity();
        }
    }
}

}  // namespace speedlight
