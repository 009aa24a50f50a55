// Judges results against float64: the error bound of DESIGN section 5. Used by smoke, verify, bench and every test.
#pragma once
#include <string>
#include <vector>

#include "cpu/reference.h"

namespace speedlight::reference {

struct TensorCheck {
  std::string tensor;  // "out", "lse", "dq", "dk", "dv"
  bool pass = true;
  double max_error = 0;    // largest |actual - reference|; infinity if an element is NaN or infinite where the reference is finite
  double bound = 0;        // 2 max|plain - reference| + u max(c); for the LSE that of its worst element
  double worst_ratio = 0;  // largest error / its bound; at most 1 passes. Infinity for a wrong dead row or a NaN
  i64 failures = 0;        // elements beyond their bound
  i64 batch = 0, row = 0, head = 0, column = 0;  // of the element with the worst ratio
  double actual = 0, expected = 0;               // its values
};

struct Comparison {
  std::vector<TensorCheck> tensors;
  bool pass = true;
  std::string text() const;  // one line a tensor
};

// Compares what the problem wants of out, lse (backward false) or dq, dk, dv (backward true) in `actual`, read through the problem's strides;
// tensors whose pointer is null are left out. `reference` and `plain` come from compute(), or from the GPU's float64 kernel in the same layout.
//
// The bound of a tensor is one number: twice the largest |plain - reference| over the tensor plus u times the largest c, u = 2^-9 (bf16) or
// 2^-12 (fp16), of the input dtype also when the tensor is fp32. c comes from `reference`: bound_out (per (batch, head): max|V|; if it is empty
// it is read from actual.v) and bound_dq, bound_dk, bound_dv (per element). LSE: 1e-3 + 1e-5 |reference|.
// Elements where the reference or plain is not finite (overflow of the dtype, NaN or infinity in the input) are not judged.
// Exact, whatever the bound: rows that see no key have out 0, LSE -inf and dQ 0; keys that no row sees have dK and dV 0.
Comparison compare(const Problem& problem, const Pointers& actual, const Values& reference, const Values& plain, bool backward);

// c of O, per (batch, query head): max|V|. `v` is read through the problem's strides.
std::vector<double> bound_out(const Problem& problem, const void* v);

}  // namespace speedlight::reference
