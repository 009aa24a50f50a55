// Shared memory of the backward kernel: named byte offsets from the (1024-byte aligned) start, for host and device alike.
#pragma once
#include "config/backward_config.h"

namespace speedlight {

// Tiles are row-major with swizzled 16-byte chunks (tile/swizzled.h). After the last query tile everything is free: the epilogue
// stages dV at `dv` and dK at `dk`, each keys x head_dim in the dtype.
struct BackwardShared {
  i32 k;           // keys x head_dim
  i32 v;           // keys x value_dim; no bytes when V lives in registers
  i32 q;           // q_stages x (rows x head_dim)
  i32 dout;        // do_stages x (rows x value_dim)
  i32 p;           // split: P^T on its way from warp to warp, in fragment order, two of keys x rows; no bytes otherwise
  i32 ds;          // dS^T, keys x rows; two of them when split (the dQ product runs a tile behind)
  i32 row_stats;   // q_stages x (base-2 LSE of the rows, then dLSE - delta of the rows), fp32
  i32 q_full;      // bulk loads: an mbarrier of 8 bytes for each stage of Q and the rows' statistics, and of dO when it has as many stages;
  i32 dout_full;   // else for each stage of dO
  i32 handoffs;    // split: mbarriers by which warps hand tiles over, two of each kind (kernels/backward_split.h)
  i32 turn_words;  // ordered adds: what is known of the turn at a tile, 4 bytes; split: of this tile and of the one before
  i32 dv, dk;      // epilogue
  i32 bytes;       // in all
};

constexpr BackwardShared backward_shared(const BackwardConfig& c) {
  const auto& t = c.tuning;
  const bool split = t.schedule == BackwardSchedule::split;
  const i32 dim = c.spec.head_dim, pair = t.keys * t.rows * 2;
  BackwardShared s{};
  s.k = 0;
  s.v = s.k + t.keys * dim * 2;
  s.q = s.v + (t.v_registers ? 0 : t.keys * dim * 2);
  s.dout = s.q + t.q_stages * t.rows * dim * 2;
  s.p = s.dout + t.do_stages * t.rows * dim * 2;
  s.ds = s.p + (split ? 2 : 0) * pair;
  s.row_stats = s.ds + (split ? 2 : 1) * pair;
  const i32 row_stats_end = s.row_stats + t.q_stages * 2 * t.rows * 4, epilogue_end = 2 * t.keys * dim * 2;
  s.q_full = t.bulk_loads ? larger(row_stats_end, epilogue_end) : row_stats_end;  // an mbarrier's memory is never used otherwise
  s.dout_full = s.q_full + (t.bulk_loads ? t.q_stages * 8 : 0);
  s.handoffs = s.dout_full + (t.bulk_loads && t.do_stages != t.q_stages ? t.do_stages * 8 : 0);
  s.turn_words = s.handoffs + (split ? (3 + c.kv_warps()) * 16 : 0);
  s.dv = 0;
  s.dk = t.keys * dim * 2;
  s.bytes = larger(s.turn_words + (c.ordered() ? split ? 8 : 4 : 0), epilogue_end);
  return s;
}

}  // namespace speedlight
