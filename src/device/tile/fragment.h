// Register tiles in the layouts of mma m16n8k16, and which matrix element a lane holds.
#pragma once
#include "ptx/thread.h"

namespace speedlight::tile {

// M x N accumulator fragments of 16 x 8 floats. Values 0, 1 of a lane are (row, col), (row, col + 1); 2, 3 are (row + 8, col), (row + 8, col + 1)
// with row = lane_row(), col = lane_col().
template <i32 M, i32 N>
struct Accumulator {
  float x[M][N][4];

  void clear() {
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 n = 0; n < N; ++n)
#pragma unroll
        for (i32 i = 0; i < 4; ++i) x[m][n][i] = 0;
  }
};

// A left operand: K x M fragments of 16 (k) x 16 (m) elements.
template <i32 K, i32 M>
struct Operand {
  u32 x[K][M][4];
};

// Row and first column of a lane's values inside a 16 x 8 accumulator fragment; also the row and column of words 0 (and 1, 8 rows below) of a
// left operand's fragment, whose words 2 and 3 are 8 columns further.
inline i32 lane_row(i32 lane) { return lane / 4; }
inline i32 lane_col(i32 lane) { return lane % 4 * 2; }

}  // namespace speedlight::tile
