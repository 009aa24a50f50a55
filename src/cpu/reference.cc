#include "cpu/reference.h"

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "cpu/element.h"
#include "cpu/thread_pool.h"

namespace speedlight::reference {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Column = Eigen::Array<T, Eigen::Dynamic, 1>;

constexpr i64 block_rows = 128;  // query rows at a time: bounds the memory, changes nothing else

template <class T>
Matrix<T> load(const void* data, const TensorLayout& layout, i64 batch, i64 head, i64 first, i64 rows, i64 dim) {
  Matrix<T> result(rows, dim);
  for (i64 i = 0; i < rows; ++i)
    for (i64 d = 0; d < dim; ++d)
      result(i, d) = read_element(data, batch * layout.batch + (first + i) * layout.row + head * layout.head + d, layout.dtype);
  return result;
}

void save(std::vector<double>& to, const Matrix<double>& from, i64 batch, i64 head, i64 first, i64 seqlen, i64 heads) {
  for (i64 i = 0; i < from.rows(); ++i)
    for (i64 d = 0; d < from.cols(); ++d) to[((batch * seqlen + first + i) * heads + head) * from.cols() + d] = from(i, d);
}

// What the plain variant rounds, float64 does not.
template <class T>
Matrix<T> rounded(const Matrix<T>& x, DType dtype) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return x.unaryExpr([dtype](float value) { return round_to(value, dtype); });
}

// All query heads of one (batch, kv head), in T = double or, for the plain variant, float.
template <class T>
struct Head {
  const Problem& p;
  const Pointers& in;
  bool backward;
  i64 b, hk;
  Values& out;
  Matrix<T> k, v, dk, dv;
  Matrix<double> bound_dk, bound_dv;

  void run() {
    k = load<T>(in.k, p.k, b, hk, 0, p.seqlen_k, p.head_dim);
    v = load<T>(in.v, p.v, b, hk, 0, p.seqlen_k, p.value_dim);
    dk = Matrix<T>::Zero(p.seqlen_k, p.head_dim), dv = Matrix<T>::Zero(p.seqlen_k, p.value_dim);
    bound_dk = Matrix<double>::Zero(p.seqlen_k, p.head_dim), bound_dv = Matrix<double>::Zero(p.seqlen_k, p.value_dim);
    const i64 group = p.heads_q / p.heads_kv;
    for (i64 h = hk * group; h < (hk + 1) * group; ++h) {
      out.bound_out[b * p.heads_q + h] = v.size() ? double(v.cwiseAbs().maxCoeff()) : 0.0;
      for (i64 first = 0; first < p.seqlen_q; first += block_rows) block(h, first, std::min(block_rows, p.seqlen_q - first));
    }
    if (!backward) return;
    save(out.dk, rounded<T>(dk, p.dk.dtype).template cast<double>(), b, hk, 0, p.seqlen_k, p.heads_kv);
    save(out.dv, rounded<T>(dv, p.dv.dtype).template cast<double>(), b, hk, 0, p.seqlen_k, p.heads_kv);
    save(out.bound_dk, bound_dk, b, hk, 0, p.seqlen_k, p.heads_kv);
    save(out.bound_dv, bound_dv, b, hk, 0, p.seqlen_k, p.heads_kv);
  }

  // Turns scores into probabilities; a row that sees no key gets 0 and LSE -inf.
  void softmax(Matrix<T>& s, i64 h, i64 first) {
    for (i64 i = 0; i < s.rows(); ++i) {
      const Band seen = band(first + i, p.seqlen_q, p.seqlen_k, p.window);
      double& lse = out.lse[(b * p.heads_q + h) * p.seqlen_q + first + i];
      lse = -std::numeric_limits<double>::infinity();
      Matrix<T> row = Matrix<T>::Zero(1, s.cols());
      if (!seen.empty()) {
        auto visible = s.row(i).segment(seen.lo, seen.hi - seen.lo).array();
        const T maximum = visible.maxCoeff();
        row.row(0).segment(seen.lo, seen.hi - seen.lo) = (visible - maximum).unaryExpr([](T x) { return std::exp(x); });
        const T sum = row.sum();
        lse = double(maximum) + std::log(double(sum));
        row /= sum;
      }
      s.row(i) = row.row(0);
    }
  }

  void block(i64 h, i64 first, i64 rows) {
    const Matrix<T> q = load<T>(in.q, p.q, b, h, first, rows, p.head_dim);
    Matrix<T> probability = (q * k.transpose()) * T(p.scale);
    softmax(probability, h, first);
    const Matrix<T> p_rounded = rounded<T>(probability, p.dtype), o = rounded<T>(p_rounded * v, p.out.dtype);
    save(out.out, o.template cast<double>(), b, h, first, p.seqlen_q, p.heads_q);
    if (!backward) return;

    const Matrix<T> dout = load<T>(in.dout, p.dout, b, h, first, rows, p.value_dim), dp = dout * v.transpose();
    const Column<T> delta = (dout.array() * o.array()).rowwise().sum(), norm = (dout.array() * o.array()).square().rowwise().sum().sqrt();
    Column<T> row_term = -delta;  // dLSE - delta
    if (p.has_dlse)
      row_term += Eigen::Map<const Eigen::ArrayXf>(in.dlse + (b * p.heads_q + h) * p.seqlen_q + first, rows).template cast<T>();
    const Matrix<T> ds = rounded<T>(probability.array() * (dp.array().colwise() + row_term), p.dtype);
    dv += p_rounded.transpose() * dout;
    dk += ds.transpose() * q * T(p.scale);
    save(out.dq, rounded<T>(ds * k * T(p.scale), p.dq.dtype).template cast<double>(), b, h, first, p.seqlen_q, p.heads_q);

    const Matrix<double> weight =
        (probability.array() * (dp.array().abs().colwise() + (row_term.abs() + 2 * norm))).matrix().template cast<double>() *
        std::abs(double(p.scale));
    save(out.bound_dq, weight * k.cwiseAbs().template cast<double>(), b, h, first, p.seqlen_q, p.heads_q);
    bound_dk += weight.transpose() * q.cwiseAbs().template cast<double>();
    bound_dv += (probability.transpose() * dout.cwiseAbs()).template cast<double>();
  }
};

}  // namespace

Values compute(const Problem& p, const Pointers& pointers, bool backward, Arithmetic arithmetic) {
  Values values;
  values.out.resize(p.batch * p.seqlen_q * p.heads_q * p.value_dim);
  values.lse.resize(p.batch * p.heads_q * p.seqlen_q);
  values.bound_out.resize(p.batch * p.heads_q);
  if (backward) {
    for (auto* x : {&values.dq, &values.bound_dq}) x->resize(p.batch * p.seqlen_q * p.heads_q * p.head_dim);
    for (auto* x : {&values.dk, &values.bound_dk}) x->resize(p.batch * p.seqlen_k * p.heads_kv * p.head_dim);
    for (auto* x : {&values.dv, &values.bound_dv}) x->resize(p.batch * p.seqlen_k * p.heads_kv * p.value_dim);
  }
  cpu::parallel_for(p.batch * p.heads_kv, [&](i64 item, int) {
    const i64 b = item / p.heads_kv, hk = item % p.heads_kv;
    if (arithmetic == Arithmetic::float64)
      Head<double>{p, pointers, backward, b, hk, values, {}, {}, {}, {}, {}, {}}.run();
    else
      Head<float>{p, pointers, backward, b, hk, values, {}, {}, {}, {}, {}, {}}.run();
  });
  return values;
}

}  // namespace speedlight::reference
