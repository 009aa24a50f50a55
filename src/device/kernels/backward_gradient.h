// The epilogue: a warp's rows of dK or dV from its accumulator to the output.
#pragma once
#include "kernels/backward_context.h"
#include "ptx/math.h"

namespace speedlight::kernels {

// fp32: straight from the registers, eight bytes a lane.
template <i32 M, i32 N>
inline void store_gradient_fp32(const tile::Accumulator<M, N>& acc, float factor, float* to, i64 row_stride, i32 rows, i32 lane) {
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      const i32 row = m * 16 + half * 8 + tile::lane_row(lane);
      if (row >= rows) continue;
      float* at = to + row * row_stride + tile::lane_col(lane);
#pragma unroll
      for (i32 n = 0; n < N; ++n) {
        ptx::store_global_float(at + n * 8, acc.x[m][n][2 * half] * factor);
        ptx::store_global_float(at + n * 8 + 1, acc.x[m][n][2 * half + 1] * factor);
      }
    }
}

// The dtype: through shared memory of the warp's own, to store 16 bytes a lane.
template <BackwardConfig C, i32 M, i32 N>
inline void store_gradient_16bit(const tile::Accumulator<M, N>& acc, float factor, ptx::SharedAddress staging, u16* to, i64 row_stride,
                                 i32 rows, i32 lane) {
  using Writer = tile::FragmentWriter<C.tuning.store, 64>;
  using Tile = typename BackwardGeometry<C>::KeyTile;
  const ptx::SharedAddress mine = staging + Writer::lane_offset(lane);
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 n = 0; n < N / 2; ++n) {
      u32 words[4];
#pragma unroll
      for (i32 i = 0; i < 4; ++i) {
        const float(&pair)[4] = acc.x[m][2 * n + i / 2];
        words[i] = ptx::pack<C.spec.dtype>(pair[i % 2 * 2] * factor, pair[i % 2 * 2 + 1] * factor);
      }
      Writer::write(mine + u32(n / 4 * Tile::slab_bytes), m, n % 4, words);
    }
  ptx::sync_warp();
  constexpr i32 chunks = N, rows_at_once = 32 / chunks;  // chunks of 8 elements
  const i32 first = lane / chunks, chunk = lane % chunks;
  u16* at = to + first * row_stride + chunk * 8;
#pragma unroll
  for (i32 i = 0; i < M * 16 / rows_at_once; ++i) {
    const i32 row = first + i * rows_at_once;
    if (row < rows) ptx::store_global_128(at, ptx::load_shared_128(staging + Tile::offset(row, chunk)));
    at += rows_at_once * row_stride;
  }
}

// `staging`: a KeyTile's room, shared by the warps. Nothing happens when the gradient is not wanted.
template <BackwardConfig C, i32 M, i32 N>
inline void store_gradient(const BackwardContext<C>& context, const tile::Accumulator<M, N>& acc, float factor, ptx::SharedAddress staging,
                           const StridedTensor& to, bool fp32) {
  if (to.data == nullptr) return;
  const i64 first = i64(context.first_key) + context.warp_first_key;
  const i64 offset = context.block.batch * to.batch + context.block.head_kv * to.head + first * to.row;
  const i32 rows = i32(context.params.shape.seqlen_k - first);
  if (fp32)
    store_gradient_fp32(acc, factor, static_cast<float*>(to.data) + offset, to.row, rows, context.lane);
  else
    store_gradient_16bit<C>(acc, factor, staging + u32(context.warp_first_key * 128), static_cast<u16*>(to.data) + offset, to.row, rows,
                            context.lane);
}

}  // namespace speedlight::kernels
