// Masked scores: scaled, and -inf where a row may not see the key.
#pragma once
#include "attention/diagonals.h"
#include "config/spec.h"
#include "ptx/math.h"
#include "tile/fragment.h"

namespace speedlight {

// Bits from `begin` on; all of them when it is negative.
inline u32 bits_from(i32 begin) { return ptx::shift_left(~u32(0), u32(larger(begin, 0))); }

// Scales the scores of rows from `row` on and keys from `key` on; masked keys and those from `key_end` on become -inf whatever they were.
template <MaskKind Kind, i32 M, i32 N>
inline void scale_and_mask(tile::Accumulator<M, N>& s, float scale_log2, i32 row, i32 key, i32 key_end, const Diagonals& visible,
                           i32 lane) {
  const i32 first = key + tile::lane_col(lane);
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      // Of this row's keys first, first + 1, first + 8, ...: those at a distance in [lo, hi) from the first, as bits of 32 distances at a time.
      i32 lo = 0, hi = key_end - first;
      if constexpr (Kind == MaskKind::band) {
        const i32 diagonal = row + tile::lane_row(lane) + m * 16 + half * 8 - first;
        lo = diagonal + visible.lo;
        hi = smaller(hi, diagonal + visible.hi + 1);
      }
      lo = larger(lo, 0), hi = larger(hi, 0);
      u32 bits = 0;
#pragma unroll
      for (i32 n = 0; n < N; ++n) {
        if (n % 4 == 0) bits = bits_from(lo - n * 8) & ~bits_from(hi - n * 8);
#pragma unroll
        for (i32 i = 0; i < 2; ++i) {
          float& x = s.x[m][n][2 * half + i];
          x = (bits >> (n % 4 * 8 + i) & 1) != 0 ? ptx::multiply(x, scale_log2) : -ptx::infinity();
        }
      }
    }
}

}  // namespace speedlight
