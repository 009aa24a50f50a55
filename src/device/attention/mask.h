// Masked scores: scaled, and -inf where a row may not see the key.
#pragma once
#include "attention/diagonals.h"
#include "config/spec.h"
#include "ptx/math.h"
#include "tile/fragment.h"

namespace speedlight {

// Scales the scores of rows from `row` on and keys from `key` on; masked keys and those from `key_end` on become -inf whatever they were.
template <MaskKind Kind, i32 M, i32 N>
inline void scale_and_mask(tile::Accumulator<M, N>& s, float scale_log2, i32 row, i32 key, i32 key_end, const Diagonals& visible,
                           i32 lane) {
  const i32 first = key + tile::lane_col(lane);
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      // Of this row's keys first, first + 1, first + 8, ...: those at a distance in [lo, hi) from the first.
      i32 lo = 0, hi = key_end - first;
      if constexpr (Kind == MaskKind::band) {
        const i32 diagonal = row + tile::lane_row(lane) + m * 16 + half * 8 - first;
        lo = diagonal + visible.lo;
        hi = smaller(hi, diagonal + visible.hi + 1);
      }
#pragma unroll
      for (i32 n = 0; n < N; ++n)
#pragma unroll
        for (i32 i = 0; i < 2; ++i) {
          float& x = s.x[m][n][2 * half + i];
          x = n * 8 + i < hi && (Kind == MaskKind::none || n * 8 + i >= lo) ? ptx::multiply(x, scale_log2) : -ptx::infinity();
        }
    }
}

}  // namespace speedlight
