// Float64 attention for tests, one warp a row: query rows (out, lse, delta; in backward dq), then in backward key rows (dk, dv). `plain`
// rounds where a straightforward half precision computation would, as src/cpu/reference.h does.
#pragma once
#include "config/backward_config.h"
#include "kernels/reference_vector.h"

namespace speedlight::kernels {

template <ReferenceConfig C>
struct ReferenceRow {
  using Vector = ReferenceVector<C.spec.dtype, C.spec.head_dim>;
  using Query = ReferenceQuery<Vector>;
  const ReferenceParams& p;
  i64 batch, head_q, head_kv;
  static double size(double x) { return x < 0 ? -x : x; }
  double single(double x) const { return p.plain ? double(float(x)) : x; }
  double half(double x) const { return p.plain ? double(ptx::unpack_lo<C.spec.dtype>(ptx::pack<C.spec.dtype>(float(x), 0))) : x; }
  double stored(double x, bool fp32) const { return fp32 ? single(x) : half(x); }
  Vector load_q(const StridedTensor& t, i64 row) const { return Vector::load(t, batch, row, head_q, p.head_dim); }
  Vector load_k(const StridedTensor& t, i64 key) const { return Vector::load(t, batch, key, head_kv, p.head_dim); }
  i64 q_at(i64 row) const { return ((batch * p.shape.seqlen_q + row) * p.shape.heads_q + head_q) * p.head_dim; }
  i64 lse_at(i64 row) const { return (batch * p.shape.heads_q + head_q) * p.shape.seqlen_q + row; }
  Band keys_of(i64 row) const { return band(row, p.shape.seqlen_q, p.shape.seqlen_k, p.window); }
  double score(const Vector& q, const Vector& k) const { return single(single(q.dot(k)) * single(p.scale)); }

  void forward(i64 row) const {
    const Vector q = load_q(p.q, row);
    const Band seen = keys_of(row);
    double lse = -double(ptx::infinity()), sum = 0;  // the maximum at first
    for (i64 j = seen.lo; j < seen.hi; ++j) {
      const double x = score(q, load_k(p.k, j)), top = x > lse ? x : lse;
      sum = sum * ptx::exp(lse - top) + ptx::exp(x - top), lse = top;
    }
    if (!seen.empty()) lse += ptx::log(sum);
    Vector out;
    for (i64 j = seen.lo; j < seen.hi; ++j) out.add(half(single(ptx::exp(score(q, load_k(p.k, j)) - lse))), load_k(p.v, j));
    for (double& x : out.x) x = stored(x, p.out_fp32);
    out.store(p.out + q_at(row), p.head_dim);
    const double delta = p.dout.data ? single(load_q(p.dout, row).dot(out)) : 0;
    if (ptx::lane_index() == 0) ptx::store_global_double(p.lse + lse_at(row), lse), ptx::store_global_double(p.delta + lse_at(row), delta);
  }
  Query query(i64 row) const {
    const Vector dout = load_q(p.dout, row), out = Vector::load(p.out + q_at(row), p.head_dim);
    const double dlse = p.dlse ? ptx::load_global_float(p.dlse + lse_at(row)) : 0, delta = ptx::load_global_double(p.delta + lse_at(row));
    const double squares = dout.sum(out, [](double a, double b) { return a * b * a * b; });
    // The last is a square root; 0 of 0.
    return {load_q(p.q, row), dout, ptx::load_global_double(p.lse + lse_at(row)), single(dlse - delta), ptx::exp(0.5 * ptx::log(squares))};
  }
  ReferencePair pair(const Query& r, const Vector& k, const Vector& v) const {
    const double probability = single(ptx::exp(score(r.q, k) - r.lse)), dp = single(r.dout.dot(v));
    return {probability, half(single(probability * single(dp + r.term))),
            probability * (size(dp) + size(r.term) + 2 * r.norm) * size(p.scale)};
  }
  void query_gradient(i64 row) const {
    const Query r = query(row);
    Vector dq, bound;
    for (i64 j = keys_of(row).lo; j < keys_of(row).hi; ++j) {
      const Vector k = load_k(p.k, j);
      const ReferencePair x = pair(r, k, load_k(p.v, j));
      dq.add(x.ds * single(p.scale), k), bound.add(x.weight, k.map(size));
    }
    for (double& x : dq.x) x = stored(x, p.dq_fp32);
    dq.store(p.dq + q_at(row), p.head_dim), bound.store(p.bound_dq + q_at(row), p.head_dim);
  }
  void key_gradient(i64 key) {
    const Vector k = load_k(p.k, key), v = load_k(p.v, key);
    const Band rows = rows_that_see(key, p.shape.seqlen_q, p.shape.seqlen_k, p.window);
    const i64 group = p.shape.heads_q / p.shape.heads_kv, at = ((batch * p.shape.seqlen_k + key) * p.shape.heads_kv + head_kv) * p.head_dim;
    Vector dk, dv, bound_dk, bound_dv;
    for (head_q = head_kv * group; head_q < (head_kv + 1) * group; ++head_q)
      for (i64 i = rows.lo; i < rows.hi; ++i) {
        const Query r = query(i);
        const ReferencePair x = pair(r, k, v);
        dk.add(x.ds * single(p.scale), r.q), bound_dk.add(x.weight, r.q.map(size));
        dv.add(half(x.probability), r.dout), bound_dv.add(x.probability, r.dout.map(size));
      }
    for (double& x : dk.x) x = stored(x, p.dk_fp32);
    for (double& x : dv.x) x = stored(x, p.dv_fp32);
    dk.store(p.dk + at, p.head_dim), bound_dk.store(p.bound_dk + at, p.head_dim);
    dv.store(p.dv + at, p.head_dim), bound_dv.store(p.bound_dv + at, p.head_dim);
  }
};

template <ReferenceConfig C>
inline void reference(const ReferenceParams& p) {
  const auto& s = p.shape;
  const i64 at = i64(ptx::block_index()) * C.block_rows() + ptx::thread_index() / 32, queries = i64(s.batch) * s.heads_q * s.seqlen_q;
  if (at < queries) {
    const i64 pair = at / s.seqlen_q, head = pair % s.heads_q;
    const ReferenceRow<C> row{p, pair / s.heads_q, head, head / (s.heads_q / s.heads_kv)};
    C.backward ? row.query_gradient(at % s.seqlen_q) : row.forward(at % s.seqlen_q);
  } else if (C.backward && at - queries < i64(s.batch) * s.heads_kv * s.seqlen_k) {
    const i64 pair = (at - queries) / s.seqlen_k;
    ReferenceRow<C>{p, pair / s.heads_kv, 0, pair % s.heads_kv}.key_gradient((at - queries) % s.seqlen_k);
  }
}

}  // namespace speedlight::kernels
