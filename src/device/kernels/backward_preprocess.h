// Before the main kernel: base-2 LSE and dLSE - delta of every padded row, and a cleared dQ accumulator or, for ordered adds, their counters and
// the dQ of tiles that no key adds to. A block takes 64 rows of one head.
#pragma once
#include "attention/lse.h"
#include "attention/output.h"
#include "config/backward_grid.h"

namespace speedlight::kernels {

// Sum over eight elements of O * dO.
template <DType T>
inline float dot8(const StridedTensor& out, i64 out_offset, bool out_fp32, const ptx::Words4& dout) {
  float sum = 0;
  if (out_fp32) {
    const float* o = static_cast<const float*>(out.data) + out_offset;
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      const ptx::Words4 x = ptx::load_global_128(o + half * 4);
#pragma unroll
      for (i32 i = 0; i < 2; ++i) {
        const u32 d = dout.x[half * 2 + i];
        sum = ptx::fma(ptx::from_bits(x.x[2 * i]), ptx::unpack_lo<T>(d), sum);
        sum = ptx::fma(ptx::from_bits(x.x[2 * i + 1]), ptx::unpack_hi<T>(d), sum);
      }
    }
  } else {
    const ptx::Words4 x = ptx::load_global_128(static_cast<const u16*>(out.data) + out_offset);
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
      sum = ptx::fma(ptx::unpack_lo<T>(x.x[i]), ptx::unpack_lo<T>(dout.x[i]), sum);
      sum = ptx::fma(ptx::unpack_hi<T>(x.x[i]), ptx::unpack_hi<T>(dout.x[i]), sum);
    }
  }
  return sum;
}

// `row` may be a padded one. A row without keys gets P = 0 (LSE +inf) and no gradient at all.
inline void store_row_stats(const BackwardParams& params, i64 head, i32 row, float delta) {
  float lse2 = ptx::infinity(), row_delta = 0;
  if (row < params.shape.seqlen_q) {
    const i64 at = head * params.shape.seqlen_q + row;
    const float lse = ptx::load_global_float(params.lse + at);
    if (lse != -ptx::infinity()) {
      lse2 = base2_lse(lse);
      row_delta = (params.dlse != nullptr ? ptx::load_global_float(params.dlse + at) : 0.0f) - delta;
    }
  }
  ptx::store_global_float(params.row_lse2 + head * params.rows_padded + row, lse2);
  ptx::store_global_float(params.row_delta + head * params.rows_padded + row, row_delta);
}

// For ordered adds, where the first part of a tile is stored.
template <PreprocessConfig C>
inline void start_turns(const BackwardParams& params, const PreprocessBlock& block, i32 rows) {
  constexpr i32 lanes = C.spec.head_dim / 8;  // a row
  const auto& shape = params.shape;
  const i32 thread = ptx::thread_index(), tile_rows = params.rows_padded / params.q_tiles, tiles = rows / tile_rows;
  const i64 head = i64(block.batch) * shape.heads_q + block.head;
  if (thread < tiles) ptx::store_global_32(params.dq_turns + head * params.q_tiles + block.first_row / tile_rows + thread, 0);
  if (thread == 0 && ptx::block_index() == 0) ptx::store_global_32(params.ticket, 0);
  for (i32 tile = 0; tile < tiles; ++tile) {
    const i64 begin = block.first_row + tile * tile_rows, end = smaller<i64>(begin + tile_rows, shape.seqlen_q);
    if (key_tiles(begin, end, shape.seqlen_q, shape.seqlen_k, params.window, 1).count() > 0) continue;
    for (i64 row = begin + thread / lanes; row < end; row += C.threads() / lanes)
      store_8<C.spec.dtype>(params.dq, params.dq_fp32,
                            block.batch * params.dq.batch + block.head * params.dq.head + row * params.dq.row + thread % lanes * 8, {});
  }
}

template <PreprocessConfig C>
inline void backward_preprocess(const BackwardParams& params) {
  constexpr i32 dim = C.spec.value_dim, lanes = dim / 8;  // a row
  const PreprocessBlock block = preprocess_block(ptx::block_index(), params.shape, params.rows_padded);
  const i32 thread = ptx::thread_index();
  const i64 head = i64(block.batch) * params.shape.heads_q + block.head;
  const i32 rows = smaller(C.block_rows(), params.rows_padded - block.first_row);
  const i32 column = thread % lanes * 8;
  const i64 out_base = block.batch * params.out.batch + block.head * params.out.head + column;
  const i64 dout_base = block.batch * params.dout.batch + block.head * params.dout.head + column;
#pragma unroll
  for (i32 pass = 0; pass < C.block_rows() / (C.threads() / lanes); ++pass) {
    const i32 offset = pass * (C.threads() / lanes) + thread / lanes, row = block.first_row + offset;
    float delta = 0;
    if (row < params.shape.seqlen_q) {
      const ptx::Words4 dout = ptx::load_global_128(static_cast<const u16*>(params.dout.data) + dout_base + row * params.dout.row);
      delta = dot8<C.spec.dtype>(params.out, out_base + row * params.out.row, params.out_fp32, dout);
    }
#pragma unroll
    for (i32 step = lanes / 2; step > 0; step /= 2) delta += ptx::shuffle_xor(delta, step);
    if (thread % lanes == 0 && offset < rows) store_row_stats(params, head, row, delta);
  }
  if (params.dq_turns != nullptr) {
    start_turns<C>(params, block, rows);
  } else if (params.dq_accumulator != nullptr) {
    float* clear = params.dq_accumulator + (head * params.rows_padded + block.first_row) * dim;
    for (i32 i = thread; i < rows * (dim / 4); i += C.threads()) ptx::store_global_128(clear + i * 4, {0, 0, 0, 0});
  }
}

}  // namespace speedlight::kernels
