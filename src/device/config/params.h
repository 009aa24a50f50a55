// What a launch hands to a kernel: plain data, laid out alike for host and NVRTC. Strides count elements; the last dimension is contiguous.
#pragma once
#include "attention/band.h"
#include "config/spec.h"

namespace speedlight {

struct alignas(64) TensorMap {
  u64 opaque[16];  // a CUtensorMap
};

// (batch, seqlen, heads, dim); element (b, s, h, d) is at data + b * batch + s * row + h * head + d.
struct StridedTensor {
  void* data;
  i64 batch, row, head;
};

struct AttentionShape {
  i32 batch, heads_q, heads_kv, seqlen_q, seqlen_k;  // heads_q is a multiple of heads_kv; lengths are below 2^30
};

struct ForwardParams {
  // Copy::bulk only: rank 4 (dim, seqlen, heads, batch), 128-byte swizzle, zero fill; box 64 x query_rows() of q, 64 x keys of k and v.
  TensorMap q_map, k_map, v_map;
  StridedTensor q, k, v, out;  // q, k, v in the Spec's dtype; out too, or fp32 when out_fp32
  float* lse;                  // (batch, heads_q, seqlen_q), natural log; may be null
  AttentionShape shape;
  Window window;
  float scale_log2;  // softmax scale times log2(e)
  i32 q_tiles;       // ceil(seqlen_q / rows)
  i32 head_group;    // this many (batch, head) pairs walk their query tiles together; divides batch * heads_q
  i32 sm_count;      // blocks this far apart tend to share an SM (attention/schedule.h, dealt_rows); 0: unknown
  bool out_fp32;
  bool q_map_batch, q_map_head, k_map_batch, k_map_head, v_map_batch,
      v_map_head;  // false: that dimension is broadcast, its coordinate is 0
};

// Shared by preprocess, main and postprocess.
struct BackwardParams {
  TensorMap q_map, dout_map;    // bulk loads only: rank 4 (dim, seqlen_q, heads_q, batch), box 64 x rows, 128-byte swizzle, zero fill
  StridedTensor q, k, v, dout;  // in the Spec's dtype
  StridedTensor out;            // the forward's output, fp32 when out_fp32
  StridedTensor dq, dk, dv;     // data null: not wanted; fp32 when the flag says so
  const float* lse;             // (batch, heads_q, seqlen_q), natural log, as the forward wrote it
  const float* dlse;            // the same shape; may be null
  float* row_lse2;              // workspace (batch, heads_q, rows_padded): LSE in base 2, +inf where P must be 0
  float* row_delta;             // workspace (batch, heads_q, rows_padded): dLSE - delta
  float* dq_accumulator;        // workspace, DqLayout tiles; null when dq is not wanted
  AttentionShape shape;
  Window window;
  float scale, scale_log2;
  i32 q_tiles, k_tiles;  // ceil(seqlen_q / rows), ceil(seqlen_k / keys) of the main kernel's tile
  i32 rows_padded;       // q_tiles * rows
  i32 head_group;        // main kernel: so many (batch, kv head) pairs go through their key tiles together; divides batch * heads_kv
  bool out_fp32, dq_fp32, dk_fp32, dv_fp32;
  // Adds to dQ in a fixed order (attention/dq_order.h); null, null, false without. Then dq is wanted and there are rows and keys.
  u32* dq_turns;  // workspace (batch, heads_q, q_tiles): how many key tiles have added their part
  u32* ticket;    // workspace: how many blocks have started
  bool cyclic;
  bool q_map_batch, q_map_head, dout_map_batch, dout_map_head;  // false: that dimension is broadcast, its coordinate is 0
};

struct PackJob {
  StridedTensor from, to;
  i64 batch, rows, heads;
  i32 dim;
  i32 first_block;  // blocks [first_block, next job's first_block or the grid's end) copy this tensor, each every n-th piece: any n is right
};
struct PackParams {
  static constexpr int max_jobs = 5;
  PackJob jobs[max_jobs];
  i32 count;
};

// Float64 attention for tests. All arrays contiguous: (batch, seqlen, heads, dim) or (batch, heads, seqlen_q).
struct ReferenceParams {
  StridedTensor q, k, v, dout;  // in the Spec's dtype, any strides
  const float* dlse;            // may be null
  double *out, *lse, *delta, *dq, *dk,
      *dv;                                 // the forward kernel writes out, lse and delta (0 without dout); the backward kernel reads them
  double *bound_dq, *bound_dk, *bound_dv;  // per element: the c of the error bound (docs: DESIGN section 5)
  AttentionShape shape;
  Window window;
  i32 head_dim;
  double scale;
  bool plain;                                // false: float64. true: the same with fp32 scores and softmax, P and dS rounded to the dtype,
  bool out_fp32, dq_fp32, dk_fp32, dv_fp32;  // and results to the dtype, or to fp32 where the flag says so
};

}  // namespace speedlight
