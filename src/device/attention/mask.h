// Which scores of a step count.
#pragma once
#include "attention/diagonals.h"
#include "config/spec.h"
#include "ptx/math.h"
#include "tile/fragment.h"

namespace speedlight {

// Bits from `begin` on; all of them when it is negative.
inline u32 bits_from(i32 begin) { return ptx::shift_left(~u32(0), u32(larger(begin, 0))); }

// Which pairs of a step a lane's rows may see, of rows from `row` on and keys from `key` on; keys from `key_end` on do not exist.
template <MaskKind Kind, i32 M, i32 N>
class VisiblePairs {
 public:
  VisiblePairs(i32 row, i32 key, i32 key_end, const Diagonals& visible, i32 lane) {
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
        lo = larger(lo, 0), hi = larger(hi, 0);
#pragma unroll
        for (i32 n = 0; n < N; n += 4) bits_[m][half][n / 4] = bits_from(lo - n * 8) & ~bits_from(hi - n * 8);
      }
  }
  // Element i of the lane's fragment (m, n).
  bool see(i32 m, i32 n, i32 i) const { return (bits_[m][i / 2][n / 4] >> (n % 4 * 8 + i % 2) & 1) != 0; }

 private:
  u32 bits_[M][2][ceil_div(N, 4)];  // 32 distances a word
};

}  // namespace speedlight
