#include "samples.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include "cpu/element.h"

namespace speedlight::cli {
namespace {

class Head {
 public:
  Head(const Problem& p, const BatchEntry& e, i64 head) : p_(p), e_(e), head_(head), kv_head_(head / (p.heads_q / p.heads_kv)) {}

  double query(const std::vector<u16>& x, i64 row, i64 d) const { return at(x, (row * p_.heads_q + head_) * p_.head_dim + d); }
  double key(const std::vector<u16>& x, i64 row, i64 d) const { return at(x, (row * p_.heads_kv + kv_head_) * p_.head_dim + d); }
  double dot(const std::vector<u16>& a, i64 i, const std::vector<u16>& b, i64 j) const {
    double sum = 0;
    for (i64 d = 0; d < p_.head_dim; ++d) sum += query(a, i, d) * key(b, j, d);
    return sum;
  }
  double delta(i64 row) const {
    double sum = 0;
    for (i64 d = 0; d < p_.head_dim; ++d) sum += query(e_.dout, row, d) * query(e_.out, row, d);
    return sum;
  }
  double lse(i64 row) const { return e_.lse[size_t(head_ * p_.seqlen_q + row)]; }

  // Rows of out and dq.
  void query_row(i64 i, bool backward, double& worst) const {
    const Band keys = band(i, p_.seqlen_q, p_.seqlen_k, p_.window);
    if (keys.empty()) return;
    std::vector<double> s, out(size_t(p_.head_dim)), dq(size_t(p_.head_dim));
    for (i64 j = keys.lo; j < keys.hi; ++j) s.push_back(dot(e_.q, i, e_.k, j) * double(p_.scale));
    const double largest = *std::max_element(s.begin(), s.end());
    double sum = 0;
    for (double x : s) sum += std::exp(x - largest);
    const double lse_row = largest + std::log(sum);
    for (i64 j = keys.lo; j < keys.hi; ++j)
      for (i64 d = 0; d < p_.head_dim; ++d) out[size_t(d)] += std::exp(s[size_t(j - keys.lo)] - lse_row) * key(e_.v, j, d);
    if (!(std::abs(lse_row - lse(i)) <= 1e-3 + 1e-5 * std::abs(lse_row))) worst = std::numeric_limits<double>::infinity();
    compare(out, [&](i64 d) { return query(e_.out, i, d); }, worst);
    if (!backward) return;
    double delta_row = 0;
    for (i64 d = 0; d < p_.head_dim; ++d) delta_row += query(e_.dout, i, d) * out[size_t(d)];
    for (i64 j = keys.lo; j < keys.hi; ++j) {
      const double ds = std::exp(s[size_t(j - keys.lo)] - lse_row) * (dot(e_.dout, i, e_.v, j) - delta_row) * double(p_.scale);
      for (i64 d = 0; d < p_.head_dim; ++d) dq[size_t(d)] += ds * key(e_.k, j, d);
    }
    compare(dq, [&](i64 d) { return query(e_.dq, i, d); }, worst);
  }

  // Rows of dk and dv; MHA only (every query head of the group would have to be summed).
  void key_row(i64 j, double& worst) const {
    const Band rows = rows_that_see(j, p_.seqlen_q, p_.seqlen_k, p_.window);
    std::vector<double> dk(size_t(p_.head_dim)), dv(size_t(p_.head_dim));
    for (i64 i = rows.lo; i < rows.hi; ++i) {
      const double weight = std::exp(dot(e_.q, i, e_.k, j) * double(p_.scale) - lse(i));
      const double ds = weight * (dot(e_.dout, i, e_.v, j) - delta(i)) * double(p_.scale);
      for (i64 d = 0; d < p_.head_dim; ++d) dk[size_t(d)] += ds * query(e_.q, i, d), dv[size_t(d)] += weight * query(e_.dout, i, d);
    }
    compare(dk, [&](i64 d) { return key(e_.dk, j, d); }, worst);
    compare(dv, [&](i64 d) { return key(e_.dv, j, d); }, worst);
  }

 private:
  double at(const std::vector<u16>& x, i64 index) const { return double(read_element(x.data(), index, p_.dtype)); }
  template <class Actual>
  void compare(const std::vector<double>& expected, Actual actual, double& worst) const {
    double difference = 0, size = 0;
    for (i64 d = 0; d < p_.head_dim; ++d) {
      const double e = actual(d) - expected[size_t(d)];
      difference += e * e, size += expected[size_t(d)] * expected[size_t(d)];
    }
    const double ratio = std::sqrt(difference / std::max(size, 1e-20));
    worst = std::isfinite(ratio) ? std::max(worst, ratio) : std::numeric_limits<double>::infinity();
  }

  const Problem& p_;
  const BatchEntry& e_;
  i64 head_, kv_head_;
};

}  // namespace

double worst_sample(const Problem& problem, const BatchEntry& entry, i64 head, int rows, bool backward) {
  const Head h(problem, entry, head);
  double worst = 0;
  for (int n = 0; n < rows; ++n) {
    // A causal row with few keys has gradients that cancel to almost nothing, which no relative error can judge: verify covers those.
    const i64 row = std::max(n == 1 ? problem.seqlen_q - 1 : i64(n) * 2654435761 % problem.seqlen_q, std::min<i64>(64, problem.seqlen_q - 1));
    h.query_row(row, backward, worst);
    if (backward && problem.heads_q == problem.heads_kv) h.key_row(row * problem.seqlen_k / problem.seqlen_q, worst);
  }
  return worst;
}

}  // namespace speedlight::cli
