// Writing a tile of fp32 accumulators as rows of the output.
#pragma once
#include "config/params.h"
#include "ptx/global.h"
#include "ptx/math.h"
#include "ptx/warp.h"
#include "tile/fragment.h"

namespace speedlight {

// Eight neighbouring elements of a row, `offset` elements into the tensor.
template <DType T>
inline void store_8(const StridedTensor& to, bool fp32, i64 offset, const float (&v)[8]) {
  if (fp32) {
    float* at = static_cast<float*>(to.data) + offset;
#pragma unroll
    for (i32 i = 0; i < 8; i += 4)
      ptx::store_global_128(at + i, {ptx::bits(v[i]), ptx::bits(v[i + 1]), ptx::bits(v[i + 2]), ptx::bits(v[i + 3])});
  } else {
    ptx::store_global_128(static_cast<u16*>(to.data) + offset,
                          {ptx::pack<T>(v[0], v[1]), ptx::pack<T>(v[2], v[3]), ptx::pack<T>(v[4], v[5]), ptx::pack<T>(v[6], v[7])});
  }
}

// Where the rows of one (batch, head) go: row r is at data + r * row_stride elements.
struct OutputRows {
  char* data;
  i64 row_stride;
  i32 row_end;  // rows from here on are not written
  bool fp32;
};

// Two fragments of 8 columns, a word (two 16-bit values) each: neighbouring lanes swap a word, then an even lane has half of the first fragment,
// its odd neighbour the same half of the second, and the four lanes of a row store 32 bytes.
template <DType T, i32 N>
inline void store_row_16bit(char* row, const float (&x)[N][4], i32 half, i32 lane, bool valid) {
  const bool odd = (lane & 1) != 0;
  char* const to = row + (lane & 1) * 16 + (lane & 2) * 4;
#pragma unroll
  for (i32 pair = 0; pair < N / 2; ++pair) {
    const u32 first = ptx::pack<T>(x[2 * pair][2 * half], x[2 * pair][2 * half + 1]);
    const u32 second = ptx::pack<T>(x[2 * pair + 1][2 * half], x[2 * pair + 1][2 * half + 1]);
    const u32 received = ptx::shuffle_xor(odd ? first : second, 1);
    if (valid) ptx::store_global_64(to + pair * 32, odd ? received : first, odd ? second : received);
  }
}

// A lane's two floats of each fragment; the four lanes of a row store 32 bytes.
template <i32 N>
inline void store_row_fp32(char* row, const float (&x)[N][4], i32 half, i32 lane, bool valid) {
  char* const to = row + (lane & 3) * 8;
#pragma unroll
  for (i32 n = 0; n < N; ++n)
    if (valid) ptx::store_global_64(to + n * 32, ptx::bits(x[n][2 * half]), ptx::bits(x[n][2 * half + 1]));
}

// Stores the rows of a warp's accumulator, the first of them row `first` (less lane_row) of the output.
template <DType T, i32 M, i32 N>
inline void store_rows(const OutputRows& out, i32 first, const tile::Accumulator<M, N>& x, i32 lane) {
  const i32 row = first + tile::lane_row(lane), live = out.row_end - row;
  const i64 stride = out.row_stride * (out.fp32 ? 4 : 2);
  char* const to = out.data + row * stride;
  if (out.fp32) {
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) store_row_fp32(to + (m * 16 + half * 8) * stride, x.x[m], half, lane, m * 16 + half * 8 < live);
  } else {
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half)
        store_row_16bit<T>(to + (m * 16 + half * 8) * stride, x.x[m], half, lane, m * 16 + half * 8 < live);
  }
}

}  // namespace speedlight
