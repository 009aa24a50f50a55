// The tuned tables: which tile a problem gets, and why. Rows are tried in order and the first whose conditions hold is taken; a row with
// smaller tiles replaces it when its blocks would not fill the card (see choose.h).
#pragma once
#include <span>
#include "config/backward_shared.h"
#include "config/forward_shared.h"
#include "plan/facts.h"

namespace speedlight::plan {

enum class MaskUse : u8 { any, none, band };

template <class T>
struct Row {
  u16 head_dim;
  MaskUse mask;
  i64 walk;  // for problems whose tiles walk so far at most (see choose.h)
  T tuning;
  const char* reason;
  bool only_ordered = false;  // for problems that ask for an order of the adds to dQ

  constexpr bool takes(int dim, bool banded, i64 length, bool ordered) const {
    return dim == head_dim && mask != (banded ? MaskUse::none : MaskUse::band) && length <= walk && (ordered || !only_ordered);
  }
};
inline constexpr i64 any_length = i64(1) << 62;

using ForwardRow = Row<ForwardTuning>;
using BackwardRow = Row<BackwardTuning>;

struct Tables {
  std::span<const ForwardRow> forward;
  std::span<const BackwardRow> backward;
};
extern const Tables tables_generic;  // sm_80, sm_86, and what does not ship: no bulk copies, no vector adds, no stmatrix; at most 99 KiB
extern const Tables tables_sm90;
extern const Tables tables_sm120;

// By card.target; one that does not ship gets the generic rows, whose PTX ships. Throws Error(unknown_device) below 80.
const Tables& tables_for(int target);

// The Spec that a row is compiled with: every field that a table does not decide is at its default.
constexpr Spec spec_for(DType dtype, u16 head_dim, MaskKind mask) {
  return {.dtype = dtype, .head_dim = head_dim, .value_dim = head_dim, .mask = mask};
}

// The config of a row where adds to dQ meet. One that finishes dQ adds in order though nobody asks for that: such rows are those that are no slower
// for it.
constexpr BackwardConfig backward_config(Spec spec, BackwardTuning tuning, bool asked) {
  spec.determinism = asked || tuning.finish ? Determinism::run_to_run : Determinism::none;  // batch_invariant runs the same
  return {spec, tuning};
}
// Where nothing is added to dQ.
constexpr BackwardConfig backward_config_without_dq(Spec spec, BackwardTuning tuning) {
  tuning.finish = false;
  return {spec, tuning};
}

// ---- what every row must satisfy; each table asserts it for its targets --------------------------------------------------------------
constexpr i64 row_shared(const ForwardRow& row) {
  return forward_shared({spec_for(DType::bf16, row.head_dim, MaskKind::none), row.tuning}).bytes;
}
constexpr i64 row_shared(const BackwardRow& row) {
  return backward_shared(backward_config(spec_for(DType::bf16, row.head_dim, MaskKind::none), row.tuning, false)).bytes;
}
constexpr bool row_valid(const ForwardRow& row) {
  return ForwardConfig{spec_for(DType::bf16, row.head_dim, MaskKind::none), row.tuning}.valid();
}
constexpr bool row_valid(const BackwardRow& row) {
  return backward_config(spec_for(DType::bf16, row.head_dim, MaskKind::none), row.tuning, false).valid();
}
constexpr bool needs_sm_90(const ForwardTuning& t) { return t.copy == Copy::bulk; }
constexpr bool needs_sm_90(const BackwardTuning& t) { return t.add == VectorAdd::v4 || t.store == MatrixStore::stmatrix || t.bulk_loads; }

// Valid, made of instructions the target has, within a block's shared memory, and `blocks` of them within an SM's.
template <class R>
constexpr bool rows_fit(std::span<const R> rows, int target) {
  for (const R& row : rows) {
    const i64 shared = round_up<i64>(row_shared(row), 128);
    if (!row_valid(row) || (target < 90 && needs_sm_90(row.tuning))) return false;
    if (shared > shared_limit(target) || row.tuning.blocks * (shared + 1024) > shared_of_sm(target)) return false;
  }
  return true;
}
// Some row takes every problem: for each head dim and mask, one without a length.
template <class R>
constexpr bool rows_complete(std::span<const R> rows) {
  for (const int dim : {64, 128})
    for (const bool banded : {false, true}) {
      bool found = false;
      for (const R& row : rows) found = found || row.takes(dim, banded, any_length, false);
      if (!found) return false;
    }
  return true;
}

}  // namespace speedlight::plan
