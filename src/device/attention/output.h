// Writing a tile of fp32 accumulators as rows of the output, 16 bytes a store.
#pragma once
#include "ptx/global.h"
#include "ptx/math.h"
#include "ptx/warp.h"
#include "tile/fragment.h"

namespace speedlight {

// Where the rows of one (batch, head) go: row r is at data + r * row_stride elements.
struct OutputRows {
  char* data;
  i64 row_stride;
  i32 row_end;  // rows from here on are not written
  bool fp32;
};

// A 2 x 2 transpose between two words and two lanes that differ in `mask`: the lower lane keeps a and gets its partner's a as b.
inline void exchange(u32& a, u32& b, i32 lane, i32 mask) {
  const bool upper = (lane & mask) != 0;
  const u32 received = ptx::shuffle_xor(upper ? a : b, mask);
  if (upper)
    a = received;
  else
    b = received;
}

// Four fragments of 8 columns, a word (two 16-bit values) each: lane % 4 = j gets fragment j whole.
template <DType T, i32 N>
inline void store_row_16bit(void* row, const float (&x)[N][4], i32 half, float factor, i32 lane, bool valid) {
#pragma unroll
  for (i32 group = 0; group < N / 4; ++group) {
    ptx::Words4 v;
#pragma unroll
    for (i32 i = 0; i < 4; ++i) v.x[i] = ptx::pack<T>(x[group * 4 + i][2 * half] * factor, x[group * 4 + i][2 * half + 1] * factor);
    exchange(v.x[0], v.x[1], lane, 1);
    exchange(v.x[2], v.x[3], lane, 1);
    exchange(v.x[0], v.x[2], lane, 2);
    exchange(v.x[1], v.x[3], lane, 2);
    if (valid) ptx::store_global_128(static_cast<char*>(row) + (group * 32 + lane % 4 * 8) * 2, v);
  }
}

// Two fragments of 8 columns, two floats each: an even lane gets half of the first, its odd neighbour the same half of the second.
template <i32 N>
inline void store_row_fp32(void* row, const float (&x)[N][4], i32 half, float factor, i32 lane, bool valid) {
#pragma unroll
  for (i32 pair = 0; pair < N / 2; ++pair) {
    ptx::Words4 v;
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      v.x[i] = ptx::bits(x[pair * 2][2 * half + i] * factor);
      v.x[2 + i] = ptx::bits(x[pair * 2 + 1][2 * half + i] * factor);
    }
    exchange(v.x[0], v.x[2], lane, 1);
    exchange(v.x[1], v.x[3], lane, 1);
    if (valid) ptx::store_global_128(static_cast<char*>(row) + (pair * 16 + lane % 2 * 8 + lane / 2 % 2 * 4) * 4, v);
  }
}

// Stores row `row` (of this lane's quad) times `factor`; the lane's part of it is value pair `half` of each of the N fragments.
template <DType T, i32 N>
inline void store_row(const OutputRows& out, i64 row, const float (&x)[N][4], i32 half, float factor, i32 lane) {
  const bool valid = row < out.row_end;
  if (out.fp32)
    store_row_fp32(out.data + row * out.row_stride * 4, x, half, factor, lane, valid);
  else
    store_row_16bit<T>(out.data + row * out.row_stride * 2, x, half, factor, lane, valid);
}

}  // namespace speedlight
