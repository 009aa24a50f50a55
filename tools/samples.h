// Float64 checks of sampled rows of a dense contiguous problem: for benchmarks, whose problems are too large for a whole reference.
#pragma once
#include <vector>
#include "problem/problem.h"

namespace speedlight::cli {

// One batch entry in host memory: (seqlen, heads, dim) in the problem's dtype; lse (heads, seqlen).
struct BatchEntry {
  std::vector<u16> q, k, v, dout, out, dq, dk, dv;
  std::vector<float> lse;
};

// The largest ||x - ref|| / ||ref|| over `rows` sampled rows of out (and, with `backward`, dq, dk, dv) of one head, and |lse - ref|;
// infinity when anything is not finite. dk and dv rows use the entry's own lse and out for the other rows.
double worst_sample(const Problem& problem, const BatchEntry& entry, i64 head, int rows, bool backward);

}  // namespace speedlight::cli
