// What is run: a kernel of kernels.h, its input made from a seed, and how its output is compared.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"

namespace speedlight::conformance {

enum class Rule : u8 {
  exact,        // bit for bit
  exp2,         // within 2 ulp; a result flushed to zero is one ulp below 2^-126
  reciprocal,   // within 1 ulp, subnormals flushed likewise
  log2,         // within 2^-22 for operands in (0.5, 2), elsewhere within 2 ulp
  double_ulps,  // within 2 ulp: exp and log of doubles are library functions, on both sides
  mma_bf16,     // |difference| <= 8 x 2^-23 x (sum |a b| + |c|); NaN and infinities alike
  mma_fp16,
};

// The tensor of a bulk copy, in the input behind its boxes: (batch, rows, heads, dim) of bf16, element strides.
struct BulkTensor {
  i64 offset;  // bytes, in the input
  i32 dim, rows, heads, batch;
  i64 row_stride, head_stride, batch_stride;
  i32 boxes, slabs, box_rows;
};

struct Group {
  std::string name, kernel;
  Rule rule;
  u32 grid;
  i32 threads, shared_bytes;
  std::vector<u8> input;
  i64 output_bytes;
  std::optional<BulkTensor> bulk;
};

// All groups, always the same for a seed on every machine. The one whose failure would spoil a GPU context for the others comes last.
std::vector<Group> make_groups(u64 seed);

}  // namespace speedlight::conformance
