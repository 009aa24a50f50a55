// After the main kernel: dQ = scale x accumulator, in the output's type and strides.
#pragma once
#include "attention/output.h"
#include "config/backward_grid.h"

namespace speedlight::kernels {

// A thread takes two rows, eight apart, of eight columns: 16 floats in a row of the accumulator.
template <PostprocessConfig C>
inline void backward_postprocess(const BackwardParams& params) {
  constexpr DqLayout layout = C.layout;
  constexpr i32 chunks = layout.cols / 8, items = postprocess_tile_items(layout);
  const i64 thread = i64(ptx::block_index()) * C.threads() + ptx::thread_index();
  const i64 tile = thread / items, head = tile / params.q_tiles, batch = head / params.shape.heads_q;
  if (batch >= params.shape.batch) return;
  const i32 item = i32(thread % items), pair = item / chunks, chunk = item % chunks;
  const i32 row = pair / 8 * 16 + pair % 8;  // in the tile
  const i32 warp = row / layout.warp_rows() * layout.warps_n + chunk / layout.fragments_n();
  const float* from = params.dq_accumulator + tile * layout.tile_floats() +
                      layout.offset(warp, row % layout.warp_rows() / 16, chunk % layout.fragments_n(), pair % 8 * 4);
  const i64 begin = tile % params.q_tiles * layout.rows;
  // Where adds are ordered, nothing is there when no key sees the tile, and the preprocess has written its dQ.
  if (params.dq_turns != nullptr &&
      key_tiles(begin, begin + layout.rows, params.shape.seqlen_q, params.shape.seqlen_k, params.window, 1).count() == 0)
    return;
  ptx::Words4 v[4];
#pragma unroll
  for (i32 lane = 0; lane < 4; ++lane) v[lane] = ptx::load_global_128(from + lane * 4);
  float upper[8], lower[8];
#pragma unroll
  for (i32 lane = 0; lane < 4; ++lane)
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      upper[lane * 2 + i] = ptx::from_bits(v[lane].x[i]) * params.scale;
      lower[lane * 2 + i] = ptx::from_bits(v[lane].x[2 + i]) * params.scale;
    }
  const i64 first = begin + row;
  const i64 offset = batch * params.dq.batch + head % params.shape.heads_q * params.dq.head + first * params.dq.row + chunk * 8;
  if (first < params.shape.seqlen_q) store_8<C.spec.dtype>(params.dq, params.dq_fp32, offset, upper);
  if (first + 8 < params.shape.seqlen_q) store_8<C.spec.dtype>(params.dq, params.dq_fp32, offset + 8 * params.dq.row, lower);
}

}  // namespace speedlight::kernels
