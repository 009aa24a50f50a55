// The online softmax, base 2. Exponentials are taken against a *reference*: the row's maximum at some earlier step. It is exact for any
// reference; only overflow limits its age. So there is no running maximum in the common case: a step's sum tells afterwards whether the
// reference still serves, and if not the step is done again with the true maximum.
//
// Nor may one key dominate a row unless its P is exact: P is rounded for the product with V but not in the sum, which evens out over many
// keys and would be felt in one. So a step that brings far more than the row had so far is done again too, and its largest P is then 1.
//
// Rounding: fma(score, scale, -reference) and a reference that was rounded on its own disagree by half a unit in the last place of the
// reference. Beyond `fused_reference` that would be felt, so there every step takes the exact path, where the scaled score is rounded just as
// the maximum is, and the largest score gives exactly 2^0.
#pragma once
#include "ptx/math.h"
#include "ptx/warp.h"
#include "tile/fragment.h"

namespace speedlight {

// A lane's sum of a step above this, or NaN, means that the reference is too old: within fp16 for each P, and P V has room in fp32.
constexpr float sum_limit = 32768;
constexpr float fused_reference = 4096;
// A lane's sum of a row and step may be this many times what it had, and 1 more: the row's sum is at least 1.
constexpr float dominance = 4;

// Softmax state of the rows of M m16 fragments; index [m][half]: row m * 16 + half * 8 + lane_row(lane).
template <i32 M>
struct RowState {
  float minus_reference[M][2];  // in base-2 units; inf until the row has seen a key
  float sum[M][2];              // this lane's part of the sum of exponentials
  float limit;                  // steps whose sums are within it need no closer look (StepSum::fails); -1 and -2: as below

  // The warp has had a step. The first one has no reference to try, so it takes the true maximum.
  bool started() const { return limit != -2; }
  // A reference is so large that every step takes the exact path.
  bool exact() const { return limit == -1; }
  void clear() {
    limit = -2;
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) {
        minus_reference[m][half] = ptx::infinity();
        sum[m][half] = 0;
      }
  }
};

// How a raw accumulator, element i of fragment (m, n), becomes a base-2 score, and that less a reference.
struct Scale {
  float scale_log2;
  float scaled(float s, i32, i32, i32) const { return ptx::multiply(s, scale_log2); }
  float plus(float s, float minus_reference, i32, i32, i32) const { return ptx::fma(s, scale_log2, minus_reference); }
};
// -inf where the row may not see the key, whatever the accumulator was.
template <class Pairs>
struct MaskedScale {
  Scale scale;
  const Pairs& pairs;
  float scaled(float s, i32 m, i32 n, i32 i) const { return pairs.see(m, n, i) ? scale.scaled(s, m, n, i) : -ptx::infinity(); }
  float plus(float s, float minus_reference, i32 m, i32 n, i32 i) const {
    return pairs.see(m, n, i) ? scale.plus(s, minus_reference, m, n, i) : -ptx::infinity();
  }
};

// The largest of a value over the four lanes that share a row.
inline float row_maximum(float x) {
  x = ptx::maximum(x, ptx::shuffle_xor(x, 1));
  return ptx::maximum(x, ptx::shuffle_xor(x, 2));
}
inline float row_sum(float x) {
  x += ptx::shuffle_xor(x, 1);
  return x + ptx::shuffle_xor(x, 2);
}

// The largest score of a row in this step, over its four lanes.
template <i32 M, i32 N, class How>
inline float row_largest(const tile::Accumulator<M, N>& s, i32 m, i32 half, How scale) {
  float x = -ptx::infinity();
#pragma unroll
  for (i32 n = 0; n < N; ++n)
#pragma unroll
    for (i32 i = 0; i < 2; ++i) x = ptx::maximum(x, scale.scaled(s.x[m][n][2 * half + i], m, n, 2 * half + i));
  return row_maximum(x);
}

// The first references: the true maximum of this step's scores. Output and sums are still 0.
template <i32 M, i32 N, class How>
inline void begin_reference(RowState<M>& rows, const tile::Accumulator<M, N>& s, How scale) {
  float largest = 0;
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      const float reference = row_largest(s, m, half, scale);
      rows.minus_reference[m][half] = -reference;
      largest = ptx::maximum(largest, reference < 0 ? -reference : reference);
    }
  rows.limit = largest <= fused_reference ? 0 : -1;
}

// Raises the references to the true maximum of what they were and this step's scores, and brings output and sums to the new reference.
template <i32 M, i32 N, i32 NO, class How>
inline void raise_reference(RowState<M>& rows, tile::Accumulator<M, NO>& out, const tile::Accumulator<M, N>& s, How scale) {
  float largest = 0;
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half) {
      const float old = -rows.minus_reference[m][half], raised = ptx::maximum(old, row_largest(s, m, half, scale));
      const float factor = ptx::exp2(ptx::subtract(old, raised == -ptx::infinity() ? 0.f : raised));
      rows.minus_reference[m][half] = -raised;
      largest = ptx::maximum(largest, raised < 0 ? -raised : raised);
      rows.sum[m][half] *= factor;
#pragma unroll
      for (i32 n = 0; n < NO; ++n)
#pragma unroll
        for (i32 i = 0; i < 2; ++i) out.x[m][n][2 * half + i] *= factor;
    }
  rows.limit = largest <= fused_reference ? 0 : -1;
}

// A lane's sums over one step; fragment n = 0 begins them.
template <i32 M>
struct StepSum {
  float x[M][2];
  float total() const {
    float sum = x[0][0] + x[0][1];
#pragma unroll
    for (i32 m = 1; m < M; ++m) sum += x[m][0] + x[m][1];
    return sum;
  }
  // Cheap, and on the way to every step's second product: whether fails() has to be asked.
  bool suspicious(const RowState<M>& rows) const { return !(total() <= rows.limit); }
  // The reference is too old for this step, or asks for the exact path. The row's first step took the true maximum just before.
  bool fails(const RowState<M>& rows, bool first) const {
    bool dominated = false;
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) dominated |= x[m][half] > ptx::fma(rows.sum[m][half], dominance, 1);
    return rows.exact() | !(total() <= sum_limit) | (dominated & !first);
  }
  // Of a step that does not fail: no step whose sums are within the new limit does either, since a row's sum never shrinks.
  void raise_limit(RowState<M>& rows) const {
    float least = sum_limit;
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) least = ptx::minimum(least, ptx::fma(rows.sum[m][half] + x[m][half], dominance, 1));
    rows.limit = least;
  }
};

// P of one 16 x 8 fragment, from differences: the exponentials, added to the step's sum (n in order) and packed as the next product's left operand.
template <DType T, i32 M, i32 K>
inline void put_probabilities(tile::Operand<K, M>& p, StepSum<M>& t, i32 m, i32 n, const float (&difference)[4]) {
  float e[4];
#pragma unroll
  for (i32 i = 0; i < 4; ++i) e[i] = ptx::exp2(difference[i]);
  t.x[m][0] = n == 0 ? e[0] + e[1] : t.x[m][0] + (e[0] + e[1]);
  t.x[m][1] = n == 0 ? e[2] + e[3] : t.x[m][1] + (e[2] + e[3]);
  p.x[n / 2][m][n % 2 * 2] = ptx::pack<T>(e[0], e[1]);
  p.x[n / 2][m][n % 2 * 2 + 1] = ptx::pack<T>(e[2], e[3]);
}

// Against the reference as it is; wrong, and then seen in the sum, where that has grown too old.
template <DType T, i32 M, i32 N, class How>
inline void try_probabilities(tile::Operand<N / 2, M>& p, StepSum<M>& t, const tile::Accumulator<M, N>& s, const RowState<M>& rows, i32 m,
                              i32 n, How scale) {
  float difference[4];
#pragma unroll
  for (i32 i = 0; i < 4; ++i) difference[i] = scale.plus(s.x[m][n][i], rows.minus_reference[m][i / 2], m, n, i);
  put_probabilities<T>(p, t, m, n, difference);
}

// After the reference has been begun or raised with the same scores: differences are rounded as the maximum is. Rows that have seen nothing,
// whose reference is -inf, get P = 0; the safe maximum is local.
template <DType T, i32 M, i32 N, class How>
inline void exact_probabilities(tile::Operand<N / 2, M>& p, StepSum<M>& t, const tile::Accumulator<M, N>& s, const RowState<M>& rows,
                                How scale) {
  float reference[M][2];
#pragma unroll
  for (i32 m = 0; m < M; ++m)
#pragma unroll
    for (i32 half = 0; half < 2; ++half)
      reference[m][half] = rows.minus_reference[m][half] == ptx::infinity() ? 0.f : -rows.minus_reference[m][half];
#pragma unroll
  for (i32 n = 0; n < N; ++n)
#pragma unroll
    for (i32 m = 0; m < M; ++m) {
      float difference[4];
#pragma unroll
      for (i32 i = 0; i < 4; ++i) difference[i] = ptx::subtract(scale.scaled(s.x[m][n][i], m, n, i), reference[m][i / 2]);
      put_probabilities<T>(p, t, m, n, difference);
    }
}

}  // namespace speedlight
