#include "cpu/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cpu/element.h"

namespace speedlight::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Shape {
  i64 batch, rows, heads, dim;
};

// Keeps the worst element of a tensor.
void judge(TensorCheck& check, double actual, double expected, double bound, i64 batch, i64 row, i64 head, i64 column) {
  double error = actual == expected ? 0 : std::abs(actual - expected);
  if (std::isnan(error)) error = infinity;
  const double ratio = error == 0 ? 0 : bound > 0 ? error / bound : infinity;
  check.max_error = std::max(check.max_error, error);
  if (ratio > 1) ++check.failures, check.pass = false;
  const bool first = batch == 0 && row == 0 && head == 0 && column == 0;
  if (!first && ratio <= check.worst_ratio) return;
  check.worst_ratio = ratio;
  check.batch = batch, check.row = row, check.head = head, check.column = column;
  check.actual = actual, check.expected = expected;
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double x : values)
    if (std::isfinite(x)) result = std::max(result, x);
  return result;
}

// `dead(row)`: no query and key meet there, the value is exactly 0.
template <class Dead>
TensorCheck check_tensor(const char* name, const Problem& p, const Shape& shape, const TensorLayout& layout, const void* actual,
                         const std::vector<double>& reference, const std::vector<double>& plain, double c, Dead dead) {
  TensorCheck check;
  check.tensor = name;
  double noise = 0;
  for (size_t i = 0; i < reference.size(); ++i)
    if (std::isfinite(reference[i]) && std::isfinite(plain[i])) noise = std::max(noise, std::abs(plain[i] - reference[i]));
  check.bound = 2 * noise + (p.dtype == DType::bf16 ? 0x1p-9 : 0x1p-12) * c;

  i64 index = 0;
  for (i64 b = 0; b < shape.batch; ++b)
    for (i64 row = 0; row < shape.rows; ++row) {
      const bool zero = dead(row);
      for (i64 h = 0; h < shape.heads; ++h)
        for (i64 d = 0; d < shape.dim; ++d, ++index) {
          if (!zero && !(std::isfinite(reference[index]) && std::isfinite(plain[index]))) continue;
          const double value = read_element(actual, b * layout.batch + row * layout.row + h * layout.head + d, layout.dtype);
          if (zero)
            judge(check, value, 0, 0, b, row, h, d);
          else
            judge(check, value, reference[index], check.bound, b, row, h, d);
        }
    }
  return check;
}

TensorCheck check_lse(const Problem& p, const float* actual, const std::vector<double>& reference) {
  TensorCheck check;
  check.tensor = "lse";
  i64 index = 0;
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 h = 0; h < p.heads_q; ++h)
      for (i64 row = 0; row < p.seqlen_q; ++row, ++index) {
        const bool dead = band(row, p.seqlen_q, p.seqlen_k, p.window).empty();
        const double expected = dead ? -infinity : reference[index];
        if (!dead && !std::isfinite(expected)) continue;
        judge(check, actual[index], expected, dead ? 0 : 1e-3 + 1e-5 * std::abs(expected), b, row, h, 0);
      }
  check.bound = std::isfinite(check.expected) ? 1e-3 + 1e-5 * std::abs(check.expected) : 0;
  return check;
}

}  // namespace

std::vector<double> bound_out(const Problem& p, const void* v) {
  std::vector<double> result(p.batch * p.heads_q);
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 h = 0; h < p.heads_q; ++h)
      for (i64 j = 0; j < p.seqlen_k; ++j)
        for (i64 d = 0; d < p.value_dim; ++d) {
          const i64 at = b * p.v.batch + j * p.v.row + h / (p.heads_q / p.heads_kv) * p.v.head + d;
          result[b * p.heads_q + h] = std::max(result[b * p.heads_q + h], double(std::abs(read_element(v, at, p.v.dtype))));
        }
  return result;
}

Comparison compare(const Problem& p, const Pointers& actual, const Values& reference, const Values& plain, bool backward) {
  const auto dead_row = [&](i64 row) { return band(row, p.seqlen_q, p.seqlen_k, p.window).empty(); };
  const auto dead_key = [&](i64 key) { return rows_that_see(key, p.seqlen_q, p.seqlen_k, p.window).empty(); };
  const Shape queries{p.batch, p.seqlen_q, p.heads_q, p.head_dim}, values{p.batch, p.seqlen_k, p.heads_kv, p.value_dim};
  const Shape keys{p.batch, p.seqlen_k, p.heads_kv, p.head_dim}, outputs{p.batch, p.seqlen_q, p.heads_q, p.value_dim};
  Comparison result;
  if (!backward) {
    const double c = largest(reference.bound_out.empty() ? bound_out(p, actual.v) : reference.bound_out);
    if (actual.out) result.tensors.push_back(check_tensor("out", p, outputs, p.out, actual.out, reference.out, plain.out, c, dead_row));
    if (actual.lse && p.want_lse) result.tensors.push_back(check_lse(p, actual.lse, reference.lse));
  } else {
    if (actual.dq && p.want_dq)
      result.tensors.push_back(
          check_tensor("dq", p, queries, p.dq, actual.dq, reference.dq, plain.dq, largest(reference.bound_dq), dead_row));
    if (actual.dk && p.want_dk)
      result.tensors.push_back(check_tensor("dk", p, keys, p.dk, actual.dk, reference.dk, plain.dk, largest(reference.bound_dk), dead_key));
    if (actual.dv && p.want_dv)
      result.tensors.push_back(
          check_tensor("dv", p, values, p.dv, actual.dv, reference.dv, plain.dv, largest(reference.bound_dv), dead_key));
  }
  for (const TensorCheck& check : result.tensors) result.pass = result.pass && check.pass;
  return result;
}

std::string Comparison::text() const {
  std::string lines;
  for (const TensorCheck& t : tensors) {
    char line[256];
    std::snprintf(line, sizeof line,
                  "%-4s %s  error %.3e  bound %.3e  ratio %.3f  at (b %lld, row %lld, head %lld, %lld): %.6g, expected %.6g\n",
                  t.tensor.c_str(), t.pass ? "ok  " : "FAIL", t.max_error, t.bound, t.worst_ratio, static_cast<long long>(t.batch),
                  static_cast<long long>(t.row), static_cast<long long>(t.head), static_cast<long long>(t.column), t.actual, t.expected);
    lines += line;
  }
  return lines;
}

}  // namespace speedlight::reference
