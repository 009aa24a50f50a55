// A problem with contiguous tensors, for tests to bend.
#pragma once
#include <cmath>
#include "problem/problem.h"

namespace speedlight {

inline Problem dense(i64 batch, i64 heads_q, i64 heads_kv, i64 seqlen_q, i64 seqlen_k, i64 dim, DType dtype = DType::bf16) {
  Problem p;
  p.batch = batch, p.heads_q = heads_q, p.heads_kv = heads_kv, p.seqlen_q = seqlen_q, p.seqlen_k = seqlen_k;
  p.head_dim = p.value_dim = dim;
  p.dtype = dtype;
  p.q = p.out = p.dout = p.dq = contiguous(dtype, seqlen_q, heads_q, dim);
  p.k = p.v = p.dk = p.dv = contiguous(dtype, seqlen_k, heads_kv, dim);
  p.scale = float(1 / std::sqrt(double(dim)));
  return p;
}

inline constexpr Window causal{Window::unlimited, 0};

}  // namespace speedlight
