// How tiles of query rows (Q, dO, and the rows' LSE and delta) come to shared memory: by cp.async of many threads, or by bulk copies that
// one lane issues. Tiles are numbered in the order in which the block walks them, from 0, as they are or modulo 4 (or 2 where nobody needs
// the phase): tile n lies in stage n % stages, and what waits for it knows its phase.
#pragma once
#include "kernels/backward_context.h"
#include "ptx/mbarrier.h"

namespace speedlight::kernels {

// cp.async: all threads load, and commit and wait for groups as they see fit. Bulk: warp `Issuer` loads, and wait_q() and wait_dout() wait;
// tiles must be waited for one by one, by all threads.
template <BackwardConfig C, i32 Issuer>
struct RowLoads {
  using G = BackwardGeometry<C>;
  using At = const BackwardContext<C>&;
  static constexpr bool bulk = C.tuning.bulk_loads, together = C.tuning.q_stages == C.tuning.do_stages;
  static constexpr i32 q_stages = C.tuning.q_stages, dout_stages = C.tuning.do_stages;

  static i32 next(i32 n) { return (n + 1) & (bulk ? 3 : 1); }

  // Before the first load, and by all threads; waits come after a block barrier.
  static void start(At at) {
    if constexpr (!bulk) return;
    if (at.thread == Issuer * 32) {
#pragma unroll
      for (i32 i = 0; i < q_stages; ++i) ptx::mbarrier_init(q_full(at, i), 1);
#pragma unroll
      for (i32 i = 0; !together && i < dout_stages; ++i) ptx::mbarrier_init(dout_full(at, i), 1);
      ptx::mbarrier_fence_init();
    }
  }

  static ptx::SharedAddress q_tile(At at, i32 n) { return at.shared + u32(G::shared.q + stage(n, q_stages) * G::RowTile::bytes); }
  static ptx::SharedAddress dout_tile(At at, i32 n) { return at.shared + u32(G::shared.dout + stage(n, dout_stages) * G::RowTile::bytes); }
  // Base-2 LSE of the rows, then dLSE - delta of the rows.
  static ptx::SharedAddress row_stats(At at, i32 n) { return at.shared + u32(G::shared.row_stats + stage(n, q_stages) * G::rows * 8); }

  // Q and the rows' statistics; bulk loads with as many stages of dO count that on the same mbarrier.
  static void load_q(At at, const QueryWalk& w, i32 n) {
    if (w.done()) return;
    if constexpr (bulk) {
      if (at.thread == Issuer * 32) {
        const auto& p = at.params;
        const i64 first = at.tile_index(w) * G::rows;
        const ptx::SharedAddress full = q_full(at, n), stats = row_stats(at, n);
        ptx::mbarrier_arrive_expect(full, (together ? 2 : 1) * G::RowTile::bytes + G::rows * 8);
        copy_tile(p.q_map, p.q_map_head, p.q_map_batch, at, w, q_tile(at, n), full);
        if constexpr (together) copy_tile(p.dout_map, p.dout_map_head, p.dout_map_batch, at, w, dout_tile(at, n), full);
        ptx::bulk_copy(stats, p.row_lse2 + first, G::rows * 4, full);
        ptx::bulk_copy(stats + G::rows * 4, p.row_delta + first, G::rows * 4, full);
      }
    } else {
      at.load_rows(at.params.q, w, q_tile(at, n));
      at.load_row_stats(w, row_stats(at, n));
    }
  }
  static void load_dout(At at, const QueryWalk& w, i32 n) {
    if (w.done() || (bulk && together)) return;
    if constexpr (bulk) {
      if (at.thread == Issuer * 32) {
        const auto& p = at.params;
        ptx::mbarrier_arrive_expect(dout_full(at, n), G::RowTile::bytes);
        copy_tile(p.dout_map, p.dout_map_head, p.dout_map_batch, at, w, dout_tile(at, n), dout_full(at, n));
      }
    } else {
      at.load_rows(at.params.dout, w, dout_tile(at, n));
    }
  }
  static void wait_q(At at, i32 n) {
    if constexpr (bulk) ptx::mbarrier_wait(q_full(at, n), u32(n) / q_stages & 1);
  }
  static void wait_dout(At at, i32 n) {
    if constexpr (bulk && !together) ptx::mbarrier_wait(dout_full(at, n), u32(n) / dout_stages & 1);
  }

 private:
  static void copy_tile(const TensorMap& map, bool head, bool batch, At at, const QueryWalk& w, ptx::SharedAddress to,
                        ptx::SharedAddress full) {
    tile::copy_box<typename G::RowTile>(to, map, w.tile * G::rows, head ? w.head : 0, batch ? at.block.batch : 0, full);
  }
  static i32 stage(i32 n, u32 stages) { return i32(u32(n) % stages); }
  static ptx::SharedAddress q_full(At at, i32 n) { return at.shared + u32(G::shared.q_full + stage(n, q_stages) * 8); }
  static ptx::SharedAddress dout_full(At at, i32 n) { return at.shared + u32(G::shared.dout_full + stage(n, dout_stages) * 8); }
};

}  // namespace speedlight::kernels
