// What is asked: shapes, strides, dtypes, mask and flags of one attention call. Plain data without pointers.
#pragma once
#include "attention/band.h"
#include "config/spec.h"

namespace speedlight {

enum class SequenceLayout : u8 { padded };  // packed (cu_seqlens) comes later

// One tensor (batch, seqlen, heads, dim): strides in elements, last dimension contiguous. Inputs may have stride 0 (broadcast).
struct TensorLayout {
  DType dtype = DType::bf16;
  i64 batch = 0, row = 0, head = 0;
  u32 alignment = 16;  // bytes; a power of two that divides the base address; more than 16 is no use
  bool operator==(const TensorLayout&) const = default;
};

struct Problem {
  i64 batch = 0, heads_q = 0, heads_kv = 0, seqlen_q = 0, seqlen_k = 0, head_dim = 0, value_dim = 0;
  DType dtype = DType::bf16;                            // of q, k, v, dout
  TensorLayout q, k, v, out;                            // out: dtype or fp32
  TensorLayout dout, dq, dk, dv;                        // backward; gradients: dtype or fp32
  bool want_lse = true;                                 // forward: write the LSE
  bool want_dq = true, want_dk = true, want_dv = true;  // backward
  bool has_dlse = false;                                // backward: a gradient of the LSE comes in
  float scale = 0;                                      // softmax scale; any finite value
  Window window;                                        // no mask, causal and sliding windows are all bands
  SequenceLayout layout = SequenceLayout::padded;
  Determinism determinism = Determinism::none;
  float softcap = 0;        // 0: none
  float dropout = 0;        // 0: none
  bool accumulate = false;  // add to the gradients instead of overwriting them
  bool operator==(const Problem&) const = default;

  bool masked() const { return window != Window{}; }
};

enum class Pass : u8 { forward, backward };

// Strides of a contiguous (batch, seqlen, heads, dim) tensor.
constexpr TensorLayout contiguous(DType dtype, i64 seqlen, i64 heads, i64 dim) {
  return {dtype, seqlen * heads * dim, heads * dim, dim, 16};
}

// Throws Error(invalid_argument or unsupported) naming the argument, its value and what is allowed. The only judge of a Problem.
// Also what this version does not do yet (softcap, dropout, accumulate, other head dims) is refused here. Any window is
// allowed: to the kernels it is data. Only what the pass reads or writes is judged: a forward ignores gradients' fields.
void validate(const Problem& problem, Pass pass);

// True when the tensor must pass through the packing kernel: base or a stride is not a multiple of 16 bytes (or is 2^40 bytes and
// more), or rows are broadcast. Strides of dimensions of size 1 do not matter; a tensor without elements never needs it.
bool needs_packing(const TensorLayout& tensor, i64 batch, i64 rows, i64 heads);

}  // namespace speedlight
