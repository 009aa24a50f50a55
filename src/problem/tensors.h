// The tensors that a pass reads and writes, as a list: for what treats all of them alike (validation, packing, byte counts).
#pragma once
#include <vector>
#include "problem/problem.h"

namespace speedlight {

enum class Operand : u8 { q, k, v, out, dout, dq, dk, dv };

struct Tensor {
  Operand operand;
  const char* name;  // as messages write it
  TensorLayout layout;
  i64 batch, rows, heads, dim;
  bool written;      // by this pass; else read
  bool may_be_fp32;  // outputs and gradients; the others have the problem's dtype

  bool empty() const { return batch == 0 || rows == 0 || heads == 0; }
  i64 elements() const { return batch * rows * heads * dim; }
};

// Only what the pass touches; unwanted gradients are not listed.
std::vector<Tensor> tensors_of(const Problem& problem, Pass pass);

}  // namespace speedlight
