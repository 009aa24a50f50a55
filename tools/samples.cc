#include "samples.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include "cpu/element.h"

namespace speedlight::cli {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One head of one batch entry, as floats (rows, dim).
std::vector<float> gather(Machine& machine, const Problem& p, const void* tensor, i64 batch, i64 rows, i64 heads, i64 head) {
  std::vector<u16> entry(size_t(rows * heads * p.head_dim));
  machine.read(entry.data(), static_cast<const u16*>(tensor) + batch * i64(entry.size()), i64(entry.size()) * 2);
  std::vector<float> x(size_t(rows * p.head_dim));
  for (i64 row = 0; row < rows; ++row)
    for (i64 d = 0; d < p.head_dim; ++d)
      x[size_t(row * p.head_dim + d)] = float(read_element(entry.data(), (row * heads + head) * p.head_dim + d, p.dtype));
  return x;
}

double dot(const std::vector<float>& a, i64 i, const std::vector<float>& b, i64 j, i64 dim) {
  const float *x = a.data() + i * dim, *y = b.data() + j * dim;
  double sum = 0;
  for (i64 d = 0; d < dim; ++d) sum += double(x[d]) * double(y[d]);
  return sum;
}

void add_scaled(std::vector<double>& to, double weight, const std::vector<float>& x, i64 row) {
  const float* from = x.data() + row * i64(to.size());
  for (size_t d = 0; d < to.size(); ++d) to[d] += weight * double(from[d]);
}

}  // namespace

struct Samples::Head {
  i64 index = 0;
  std::vector<float> q, dout, out, lse;
};

Samples::Samples(Machine& machine, const Problem& p, const Pointers& at, i64 batch, i64 head, int rows, Pass pass)
    : problem_(p), batch_(batch), kv_head_(head / (p.heads_q / p.heads_kv)) {
  const std::vector<float> keys = gather(machine, p, at.k, batch, p.seqlen_k, p.heads_kv, kv_head_);
  const std::vector<float> values = gather(machine, p, at.v, batch, p.seqlen_k, p.heads_kv, kv_head_);
  const i64 group_size = p.heads_q / p.heads_kv;
  std::vector<Head> group;
  for (i64 h = kv_head_ * group_size; h < (kv_head_ + 1) * group_size; ++h) {
    if (pass == Pass::forward && h != head) continue;
    Head& made = group.emplace_back();
    made.index = h;
    made.q = gather(machine, p, at.q, batch, p.seqlen_q, p.heads_q, h);
    if (pass == Pass::forward) continue;
    made.dout = gather(machine, p, at.dout, batch, p.seqlen_q, p.heads_q, h);
    made.out = gather(machine, p, at.out, batch, p.seqlen_q, p.heads_q, h);
    made.lse.resize(size_t(p.seqlen_q));
    machine.read(made.lse.data(), at.lse + (batch * p.heads_q + h) * p.seqlen_q, p.seqlen_q * 4);
  }
  const Head& mine = *std::ranges::find(group, head, &Head::index);
  for (int n = 0; n < rows; ++n) {
    // A causal row with few keys has gradients that cancel to almost nothing, which no relative error can judge: verify covers those.
    const i64 row = std::max(n == 1 ? p.seqlen_q - 1 : i64(n) * 2654435761 % p.seqlen_q, std::min<i64>(64, p.seqlen_q - 1));
    add_query_row(mine, keys, values, row, pass);
    if (pass == Pass::backward) add_key_row(group, keys, values, row * p.seqlen_k / p.seqlen_q);
  }
}

void Samples::add_query_row(const Head& head, const std::vector<float>& keys, const std::vector<float>& values, i64 i, Pass pass) {
  const Problem& p = problem_;
  const Band seen = band(i, p.seqlen_q, p.seqlen_k, p.window);
  if (seen.empty()) return;
  std::vector<double> s, out(size_t(p.head_dim)), dq(size_t(p.head_dim));
  for (i64 j = seen.lo; j < seen.hi; ++j) s.push_back(dot(head.q, i, keys, j, p.head_dim) * double(p.scale));
  const double largest = *std::max_element(s.begin(), s.end());
  double sum = 0;
  for (double x : s) sum += std::exp(x - largest);
  const double lse = largest + std::log(sum);
  for (i64 j = seen.lo; j < seen.hi; ++j) add_scaled(out, std::exp(s[size_t(j - seen.lo)] - lse), values, j);
  const i64 offset = ((batch_ * p.seqlen_q + i) * p.heads_q + head.index) * p.head_dim;
  lse_.emplace_back((batch_ * p.heads_q + head.index) * p.seqlen_q + i, lse);
  if (pass == Pass::backward) {
    double delta = 0;
    for (i64 d = 0; d < p.head_dim; ++d) delta += double(head.dout[size_t(i * p.head_dim + d)]) * out[size_t(d)];
    for (i64 j = seen.lo; j < seen.hi; ++j) {
      const double ds = std::exp(s[size_t(j - seen.lo)] - lse) * (dot(head.dout, i, values, j, p.head_dim) - delta) * double(p.scale);
      add_scaled(dq, ds, keys, j);
    }
    rows_.push_back({&Pointers::dq, offset, dq});
  }
  rows_.push_back({&Pointers::out, offset, out});
}

void Samples::add_key_row(const std::vector<Head>& group, const std::vector<float>& keys, const std::vector<float>& values, i64 j) {
  const Problem& p = problem_;
  const Band rows = rows_that_see(j, p.seqlen_q, p.seqlen_k, p.window);
  std::vector<double> dk(size_t(p.head_dim)), dv(size_t(p.head_dim));
  for (const Head& head : group)
    for (i64 i = rows.lo; i < rows.hi; ++i) {
      const double weight = std::exp(dot(head.q, i, keys, j, p.head_dim) * double(p.scale) - double(head.lse[size_t(i)]));
      const double ds = weight * (dot(head.dout, i, values, j, p.head_dim) - dot(head.dout, i, head.out, i, p.head_dim)) * double(p.scale);
      add_scaled(dk, ds, head.q, i);
      add_scaled(dv, weight, head.dout, i);
    }
  const i64 offset = ((batch_ * p.seqlen_k + j) * p.heads_kv + kv_head_) * p.head_dim;
  rows_.push_back({&Pointers::dk, offset, dk});
  rows_.push_back({&Pointers::dv, offset, dv});
}

double Samples::worst(Machine& machine, const Pointers& results) const {
  double worst = 0;
  std::vector<u16> actual(size_t(problem_.head_dim));
  for (const Row& row : rows_) {
    machine.read(actual.data(), static_cast<const u16*>(results.*row.tensor) + row.offset, i64(actual.size()) * 2);
    double difference = 0, size = 0;
    for (size_t d = 0; d < actual.size(); ++d) {
      const double e = double(read_element(actual.data(), i64(d), problem_.dtype)) - row.expected[d];
      difference += e * e, size += row.expected[d] * row.expected[d];
    }
    const double ratio = std::sqrt(difference / std::max(size, 1e-20));
    worst = std::isfinite(ratio) ? std::max(worst, ratio) : infinity;
  }
  for (const auto& [element, expected] : lse_) {
    float lse = 0;
    machine.read(&lse, results.lse + element, 4);
    if (!(std::abs(double(lse) - expected) <= 1e-3 + 1e-5 * std::abs(expected))) worst = infinity;
  }
  return worst;
}

double worst_of_entries(Machine& machine, const Problem& p, const Pointers& at, Pass pass) {
  double worst = Samples(machine, p, at, 0, 0, 6, pass).worst(machine, at);
  if (p.batch > 1) worst = std::max(worst, Samples(machine, p, at, p.batch - 1, (p.batch - 1) % p.heads_q, 6, pass).worst(machine, at));
  return worst;
}

}  // namespace speedlight::cli
