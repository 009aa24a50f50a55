#include "problem/visible.h"

namespace speedlight {
namespace {

// Sum over i in [0, count) of start + i clamped to [0, limit].
i64 sum_of_clamped(i64 start, i64 count, i64 limit) {
  const i64 rise = smaller(larger<i64>(-start, 0), count);           // the first i whose term is above 0 comes after these
  const i64 top = smaller(larger<i64>(limit - start, rise), count);  // from here on the term is the limit
  const i64 ramp = top - rise;
  return ramp * (start + rise) + ramp * (ramp - 1) / 2 + (count - top) * limit;
}

}  // namespace

i64 visible_pairs(i64 seqlen_q, i64 seqlen_k, Window w) {
  if (seqlen_q <= 0 || seqlen_k <= 0) return 0;
  const bool bounded_left = w.left != Window::unlimited, bounded_right = w.right != Window::unlimited;
  if (sees_nothing(w)) return 0;
  // Now hi >= lo before both are clamped, so after it too, and the sums of both ends may be taken apart.
  const i64 diagonal = seqlen_k - seqlen_q;
  const i64 hi = bounded_right ? sum_of_clamped(diagonal + w.right + 1, seqlen_q, seqlen_k) : seqlen_q * seqlen_k;
  const i64 lo = bounded_left ? sum_of_clamped(diagonal - w.left, seqlen_q, seqlen_k) : 0;
  return hi - lo;
}

bool sees_everything(i64 seqlen_q, i64 seqlen_k, Window w) {
  if (seqlen_q <= 0 || seqlen_k <= 0) return true;
  return band(0, seqlen_q, seqlen_k, w).hi == seqlen_k && band(0, seqlen_q, seqlen_k, w).lo == 0 &&
         band(seqlen_q - 1, seqlen_q, seqlen_k, w).lo == 0;
}

}  // namespace speedlight
