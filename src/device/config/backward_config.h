// Backward: preprocess (delta, base-2 LSE, zeroed dQ accumulator), main (one block a tile of keys, walking the query tiles), postprocess
// (fp32 dQ to the output).
#pragma once
#include "config/accumulator.h"
#include "config/spec.h"

namespace speedlight {

enum class BackwardSchedule : u8 {
  single,  // every warp computes S, P, dP, dS, dV, dK and a part of dQ
  split,   // half of the warps: S, P, dV, dQ; the other half: dP, dS, dK
};

struct BackwardTuning {
  BackwardSchedule schedule = BackwardSchedule::single;
  u16 rows = 64;             // query rows a tile (m)
  u16 keys = 128;            // kv rows a block (n)
  u8 warps = 4;              // single: each owns keys / warps kv rows; split: keys / (warps / 2)
  u8 chunks = 1;             // single: the query tile's scores are formed in this many pieces (fewer registers)
  u8 q_stages = 1;           // 1 or 2
  u8 do_stages = 1;          // 1 or 2, at most q_stages
  bool v_registers = false;  // V fragments live in registers (split: always)
  bool bulk_loads = false;   // Q, dO and the rows' statistics by bulk copies, which one lane issues (split: always)
  bool finish = false;       // ordered adds only: the last part takes what the others left and writes dQ, and no postprocess follows
  u8 dq_warps_m = 1;         // warp grid of the dQ product over the (rows x head_dim) tile; times dq_warps_n = the warps that form dQ
  u8 dq_warps_n = 4;
  VectorAdd add = VectorAdd::v4;
  MatrixStore store = MatrixStore::stmatrix;
  u8 blocks = 1;  // blocks an SM that the register budget is made for
  constexpr bool operator==(const BackwardTuning&) const = default;
};

struct BackwardConfig {
  Spec spec;
  BackwardTuning tuning;
  constexpr bool operator==(const BackwardConfig&) const = default;

  constexpr i32 threads() const { return tuning.warps * 32; }
  constexpr bool ordered() const { return spec.determinism != Determinism::none; }  // adds to dQ take turns (attention/dq_order.h)
  constexpr bool finishes() const { return ordered() && tuning.finish; }
  constexpr i32 kv_warps() const { return tuning.schedule == BackwardSchedule::split ? tuning.warps / 2 : tuning.warps; }
  constexpr i32 warp_keys() const { return tuning.keys / kv_warps(); }
  constexpr DqLayout dq_layout() const { return {tuning.rows, spec.head_dim, tuning.dq_warps_m, tuning.dq_warps_n}; }
  constexpr bool valid() const {
    const auto& t = tuning;
    const bool split = t.schedule == BackwardSchedule::split;
    if (!((spec.head_dim == 64 || spec.head_dim == 128) && spec.head_dim == spec.value_dim && spec.dtype != DType::fp32)) return false;
    if (!(t.warps == 4 || t.warps == 8) || t.keys % kv_warps() != 0 || (warp_keys() != 16 && warp_keys() != 32)) return false;
    if (!(t.rows == 32 || t.rows == 64) || !(t.chunks == 1 || (!split && t.chunks == 2)) || t.rows / t.chunks % 16 != 0) return false;
    if (t.q_stages < 1 || t.q_stages > 2 || t.do_stages < 1 || t.do_stages > t.q_stages || t.blocks < 1 || t.blocks > 2) return false;
    if (split && !(t.v_registers && t.bulk_loads && t.q_stages == 2 && t.do_stages == 2 && t.warps == 8)) return false;
    if (t.finish && !ordered()) return false;
    const i32 dq_warps = t.dq_warps_m * t.dq_warps_n;
    return dq_warps == kv_warps() && t.rows % (16 * t.dq_warps_m) == 0 && spec.head_dim % (16 * t.dq_warps_n) == 0;
  }
};

// One warp a few rows. Writes, for every padded row: base-2 LSE (+inf for rows without keys and for padding, so that P = exp2(s - lse2) is 0)
// and -(delta - dLSE), and clears the dQ accumulator.
struct PreprocessConfig {
  Spec spec;  // only dtype, value_dim matter; the rest stays at its default
  constexpr bool operator==(const PreprocessConfig&) const = default;
  static constexpr i32 threads() { return 256; }
  static constexpr i32 block_rows() { return 64; }
};

struct PostprocessConfig {
  Spec spec;        // only dtype, head_dim matter
  DqLayout layout;  // of the backward config that wrote the accumulator
  constexpr bool operator==(const PostprocessConfig&) const = default;
  static constexpr i32 threads() { return 256; }
};

// Copies a tensor (batch, seqlen, heads, dim) of 2- or 4-byte elements between any element-aligned strides.
struct PackConfig {
  u8 element_bytes = 2;  // 2 or 4
  constexpr bool operator==(const PackConfig&) const = default;
  static constexpr i32 threads() { return 256; }
};

// Float64 attention for tests, one warp a row. Forward: batch * heads_q * seqlen_q rows; backward, which reads forward's results: as many query
// rows, then batch * heads_kv * seqlen_k key rows.
struct ReferenceConfig {
  Spec spec;
  bool backward = false;
  constexpr bool operator==(const ReferenceConfig&) const = default;
  static constexpr i32 threads() { return 128; }
  static constexpr i32 block_rows() { return threads() / 32; }
};

}  // namespace speedlight
