// Forward: one block computes `rows` query rows of one (batch, head); K and V pass through a ring of `stages` stages of `keys` keys.
#pragma once
#include "config/spec.h"

namespace speedlight {

struct ForwardTuning {
  u16 rows = 128;  // query rows a block (m)
  u16 keys = 32;   // keys a ring stage (n)
  u8 warps = 4;    // rows / warps is 16 or 32
  u8 step = 16;    // keys a softmax step
  u8 stages = 3;   // ring depth
  Copy copy = Copy::bulk;
  bool overlap = false;  // multiply the next step's scores beside this step's exponentials
  u8 blocks = 1;         // blocks an SM that the register budget is made for
  constexpr bool operator==(const ForwardTuning&) const = default;
};

struct ForwardConfig {
  Spec spec;
  ForwardTuning tuning;
  constexpr bool operator==(const ForwardConfig&) const = default;

  constexpr i32 threads() const { return tuning.warps * 32; }
  constexpr i32 warp_rows() const { return tuning.rows / tuning.warps; }
  constexpr i32 stage_bytes() const { return tuning.keys * (spec.head_dim + spec.value_dim) * 2; }  // K then V
  // The block's queries come first through the ring, so many rows an entry: as many as K and V of a stage, and as a bulk copy's box may have.
  constexpr i32 query_rows() const { return smaller<i32>(tuning.rows, smaller<i32>(2 * tuning.keys, 256)); }
  constexpr i32 query_entries() const { return ceil_div<i32>(tuning.rows, query_rows()); }
  // True when the tile divides as the kernel needs; says nothing about what fits a card.
  constexpr bool valid() const {
    const auto& t = tuning;
    return (spec.head_dim == 64 || spec.head_dim == 128) && spec.head_dim == spec.value_dim && spec.dtype != DType::fp32 && t.warps >= 1 &&
           t.warps <= 16 && t.rows % t.warps == 0 && (warp_rows() == 16 || warp_rows() == 32) &&
           (t.step == 16 || t.step == 32 || t.step == 64) && t.keys % t.step == 0 && t.keys >= 16 && t.keys <= 256 && t.stages >= 2 &&
           t.stages <= 8 && query_entries() <= t.stages - (t.copy == Copy::cp_async) && t.blocks >= 1 && t.blocks <= 4 &&
           // cp.async: the threads divide a tile's 16-byte chunks evenly
           (t.copy == Copy::bulk || t.keys * (spec.head_dim / 8) % threads() == 0);
  }
};

}  // namespace speedlight
