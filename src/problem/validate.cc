#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include "problem/error.h"
#include "problem/problem.h"
#include "problem/tensors.h"

namespace speedlight {
namespace {

constexpr i64 seqlen_limit = i64(1) << 30;
constexpr i64 count_limit = i64(1) << 31;   // of batch and heads, which kernels hold in 32 bits
constexpr i64 offset_limit = i64(1) << 60;  // of element offsets, so that byte addresses cannot overflow 64 bits

template <class T>
[[noreturn]] void refuse(std::string_view argument, const T& value, std::string_view allowed, Status status = Status::invalid_argument) {
  throw Error(status, fmt::format("{} is {}: must be {}", argument, value, allowed));
}

std::string_view name_of(DType t) {
  switch (t) {
    case DType::fp16: return "fp16";
    case DType::bf16: return "bf16";
    case DType::fp32: return "fp32";
  }
  return "unknown";
}

void check_count(std::string_view argument, i64 value, i64 limit) {
  if (value < 0 || value >= limit) refuse(argument, value, fmt::format("at least 0 and below {}", limit));
}

void check_sizes(const Problem& p) {
  check_count("batch", p.batch, count_limit);
  check_count("heads_q", p.heads_q, count_limit);
  check_count("heads_kv", p.heads_kv, count_limit);
  check_count("seqlen_q", p.seqlen_q, seqlen_limit);
  check_count("seqlen_k", p.seqlen_k, seqlen_limit);
  if ((p.heads_q == 0) != (p.heads_kv == 0) || (p.heads_kv > 0 && p.heads_q % p.heads_kv != 0))
    refuse("heads_q", p.heads_q, fmt::format("a multiple of heads_kv, which is {} (both 0 or neither)", p.heads_kv));
  // Rows and elements of every tensor are counted in 64 bits; 128 is the largest head dim.
  const i64 heads = p.batch * std::max(p.heads_q, p.heads_kv), rows = std::max<i64>(1, std::max(p.seqlen_q, p.seqlen_k));
  if (heads > offset_limit / 128 / rows) refuse("batch x heads x seqlen", fmt::format("{} x {}", heads, rows), "below 2^53");
  if (p.head_dim <= 0) refuse("head_dim", p.head_dim, "64 or 128");
  if (p.head_dim != 64 && p.head_dim != 128) refuse("head_dim", p.head_dim, "64 or 128 in this version", Status::unsupported);
  if (p.value_dim <= 0) refuse("value_dim", p.value_dim, fmt::format("head_dim, which is {}", p.head_dim));
  if (p.value_dim != p.head_dim)
    refuse("value_dim", p.value_dim, fmt::format("head_dim, which is {}, in this version", p.head_dim), Status::unsupported);
}

void check_options(const Problem& p) {
  if (!std::isfinite(p.scale)) refuse("scale", p.scale, "finite");
  if (!(p.softcap == 0)) refuse("softcap", p.softcap, "0 (none) in this version", Status::unsupported);
  if (!(p.dropout == 0)) refuse("dropout", p.dropout, "0 (none) in this version", Status::unsupported);
  if (p.accumulate) refuse("accumulate", p.accumulate, "false in this version", Status::unsupported);
  if (p.determinism > Determinism::batch_invariant)
    refuse("determinism", int(p.determinism), "none (0), run_to_run (1) or batch_invariant (2)");
  if (p.layout != SequenceLayout::padded) refuse("layout", int(p.layout), "padded (0)");
  for (const auto& [name, bound] : {std::pair{"window.left", p.window.left}, std::pair{"window.right", p.window.right}})
    if (bound > Window::unlimited || bound < -Window::unlimited) refuse(name, bound, "within -2^62 and 2^62 (2^62: unlimited)");
}

void check_dtype(const Tensor& t, DType dtype) {
  const bool fits = t.layout.dtype == dtype || (t.may_be_fp32 && t.layout.dtype == DType::fp32);
  if (fits) return;
  const std::string own = fmt::format("{}, the dtype of the problem", name_of(dtype));
  refuse(fmt::format("{}.dtype", t.name), name_of(t.layout.dtype), t.may_be_fp32 ? own + ", or fp32" : own);
}

struct Dimension {
  const char* name;
  i64 size, stride;
};

// Written tensors: walking from the innermost dimension out, each step must clear everything inside it.
void check_disjoint(const Tensor& t, std::array<Dimension, 3> dims) {
  std::ranges::stable_sort(dims, {}, &Dimension::stride);
  i64 extent = t.dim;
  for (const Dimension& d : dims) {
    if (d.size <= 1) continue;
    if (d.stride < extent)
      refuse(fmt::format("{}.{}_stride", t.name, d.name), d.stride,
             fmt::format("at least {}, so that no two elements of this written tensor share memory", extent));
    extent += (d.size - 1) * d.stride;
  }
}

void check_tensor(const Tensor& t, DType dtype) {
  check_dtype(t, dtype);
  const i64 element = size_of(t.layout.dtype);
  if (!std::has_single_bit(t.layout.alignment) || t.layout.alignment < element)
    refuse(fmt::format("{}.alignment", t.name), t.layout.alignment, fmt::format("a power of two, at least {} (one element)", element));
  const std::array<Dimension, 3> dims{
      {{"batch", t.batch, t.layout.batch}, {"row", t.rows, t.layout.row}, {"head", t.heads, t.layout.head}}};
  if (t.empty()) return;  // no element, so no stride matters
  for (const Dimension& d : dims) {
    if (d.size <= 1) continue;
    const std::string name = fmt::format("{}.{}_stride", t.name, d.name);
    if (d.stride < 0) refuse(name, d.stride, "at least 0");
    if (d.stride > offset_limit / 4 / (d.size - 1)) refuse(name, d.stride, fmt::format("at most {}", offset_limit / 4 / (d.size - 1)));
  }
  if (t.written) check_disjoint(t, dims);
}

}  // namespace

void validate(const Problem& p, Pass pass) {
  if (p.dtype != DType::fp16 && p.dtype != DType::bf16) refuse("dtype", name_of(p.dtype), "fp16 or bf16");
  check_sizes(p);
  check_options(p);
  for (const Tensor& t : tensors_of(p, pass)) check_tensor(t, p.dtype);
}

bool needs_packing(const TensorLayout& tensor, i64 batch, i64 rows, i64 heads) {
  if (batch == 0 || rows == 0 || heads == 0) return false;
  if (tensor.alignment < 16) return true;
  const i64 element = size_of(tensor.dtype);
  // A tensor map holds strides below 2^40 bytes.
  const auto unfit = [&](i64 size, i64 stride) { return size > 1 && (stride * element % 16 != 0 || stride >= (i64(1) << 40) / element); };
  return unfit(batch, tensor.batch) || unfit(rows, tensor.row) || unfit(heads, tensor.head) || (rows > 1 && tensor.row == 0);
}

}  // namespace speedlight
