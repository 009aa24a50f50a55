// Float64 attention, the truth that every test compares with, and the bound of DESIGN section 5. Slow, plain, under 150 lines.
#pragma once
#include <vector>
#include "gpu/device.h"

namespace speedlight::reference {

// Contiguous (batch, seqlen, heads, dim) or, for lse, (batch, heads, seqlen_q).
struct Values {
  std::vector<double> out, lse, dq, dk, dv;
  std::vector<double> bound_dq, bound_dk,
      bound_dv;  // c of the error bound, per element, see DESIGN section 5; c for out is per (batch, head): max |V|
  std::vector<double> bound_out;
};
enum class Arithmetic { float64, plain };  // plain: scores and softmax in fp32, P and dS rounded to the dtype, delta from the rounded O
// Reads q, k, v (and dout, dlse when backward) through the problem's strides.
Values compute(const Problem& problem, const Pointers& pointers, bool backward, Arithmetic arithmetic);

}  // namespace speedlight::reference
