// What every warp of a backward block knows, and the steps that the single and the split schedule share: where its keys and rows are, loads
// and the mask.
#pragma once
#include "attention/dq_order.h"
#include "attention/query_walk.h"
#include "config/backward_grid.h"
#include "config/backward_shared.h"
#include "ptx/barrier.h"
#include "ptx/global.h"
#include "ptx/warp.h"
#include "tile/copy.h"
#include "tile/copy_near_rows.h"
#include "tile/fragment.h"
#include "tile/narrow_tile.h"

namespace speedlight::kernels {

template <BackwardConfig C>
struct BackwardGeometry {
  static_assert(C.valid());
  static constexpr DType dtype = C.spec.dtype;
  static constexpr bool masked = C.spec.mask == MaskKind::band, ordered = C.ordered(), split = C.tuning.schedule == BackwardSchedule::split;
  static constexpr i32 dim = C.spec.head_dim, keys = C.tuning.keys, rows = C.tuning.rows, warp_keys = C.warp_keys();
  static constexpr i32 key_blocks = warp_keys / 16;  // 16-key blocks of a warp
  static constexpr i32 dim_blocks = dim / 16, row_blocks = rows / 16;
  static constexpr DqLayout dq = C.dq_layout();
  static constexpr BackwardShared shared = backward_shared(C);
  using KeyTile = tile::Swizzled<keys, dim>;  // K, V
  using RowTile = tile::Swizzled<rows, dim>;  // Q, dO
  using PairTile = tile::NarrowTile<rows>;    // dS^T: keys x rows
  using PairWriter = tile::FragmentWriter<C.tuning.store, rows>;
};

template <BackwardConfig C>
struct BackwardContext {
  using G = BackwardGeometry<C>;

  const BackwardParams& params;
  const ptx::SharedAddress shared = ptx::dynamic_shared();
  const i32 thread = ptx::thread_index(), warp = ptx::broadcast(thread / 32, 0), lane = thread % 32;
  const BackwardBlock block = backward_block(item(), params.shape, params.k_tiles, params.head_group, G::ordered);
  const i32 first_key = block.key_tile * G::keys;
  const i32 warp_first_key = warp % C.kv_warps() * G::warp_keys;  // within the block's keys
  const Diagonals visible = G::masked ? diagonals(params.shape.seqlen_q, params.shape.seqlen_k, params.window) : diagonals(0, 0, Window{});

  // Which block of work this is: the grid's, or where blocks wait for earlier ones, the next in the order in which blocks start.
  u32 item() const {
    if constexpr (!G::ordered) return ptx::block_index();
    if (thread == 0) ptx::store_shared_32(shared, ptx::add_relaxed_32(params.ticket, 1));
    ptx::sync_block();
    const u32 taken = ptx::load_shared_32(shared);
    ptx::sync_block();
    return u32(ptx::broadcast(i32(taken), 0));
  }

  DqOrder<G::keys, G::rows> order() const {
    return {params.k_tiles, params.q_tiles, params.shape.seqlen_q, visible, !G::masked && params.cyclic};
  }

  QueryWalk walk() const {
    const auto& s = params.shape;
    const i32 group = s.heads_q / s.heads_kv;
    const Window window = G::masked ? params.window : Window{};
    const TileRange tiles = row_tiles(first_key, i64(first_key) + G::keys, s.seqlen_q, s.seqlen_k, window, G::rows);
    i32 start = i32(tiles.lo);
    if constexpr (G::ordered && !G::masked) start = params.cyclic ? order().start(block.key_tile) : start;
    return query_walk(tiles, start, block.head_kv * group, group);
  }
  // Ordered adds: the block's turn at a tile, the counter that says whose turn it is, a wait that acquires and, by a whole warp, a release to the
  // next block, after a barrier that follows the adds to the tile.
  u32 turn(const QueryWalk& w) const { return u32(order().turn(block.key_tile, w.tile)); }
  u32* turn_counter(const QueryWalk& w) const { return params.dq_turns + tile_index(w); }
  void await_turn(const QueryWalk& w) const { ptx::wait_acquire_32(turn_counter(w), turn(w)); }
  void hand_on(const QueryWalk& w) const {
    ptx::fence_device();
    if (ptx::lane_index() == 0) ptx::add_relaxed_32(turn_counter(w), 1);
  }
  // Number of a (query head, tile) among all.
  i64 tile_index(const QueryWalk& w) const { return (i64(block.batch) * params.shape.heads_q + w.head) * params.q_tiles + w.tile; }

  // No pair of the block's keys and the tile's rows needs a mask; without a mask that includes keys that do not exist (probability_bound).
  bool unmasked(i32 tile) const {
    if constexpr (!G::masked) return true;
    return first_key + G::keys <= params.shape.seqlen_k && visible.cover(first_key, G::keys, tile * G::rows, G::rows);
  }
  // No probability of this lane's keys (16-key block m, upper or lower half) is above it: 0 for keys that do not exist.
  void probability_bound(float (&bound)[G::key_blocks][2]) const {
    const i32 left = params.shape.seqlen_k - first_key - warp_first_key - tile::lane_row(lane);
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) bound[m][half] = m * 16 + half * 8 < left ? 1.0f : 0.0f;
  }
  // No pair of this warp's keys is visible, so that the warp has nothing to do.
  bool warp_sees_nothing(i32 tile) const {
    if constexpr (!G::masked) return false;
    const i32 key = first_key + warp_first_key;
    return key >= params.shape.seqlen_k || !visible.touch(key, G::warp_keys, tile * G::rows, G::rows);
  }

  static const char* at(const StridedTensor& t, i64 batch, i64 head, i64 row) {
    return static_cast<const char*>(t.data) + (batch * t.batch + head * t.head + row * t.row) * 2;
  }

  void load_keys(const StridedTensor& from, ptx::SharedAddress to) const {
    tile::copy_rows<typename G::KeyTile, C.threads()>(to, at(from, block.batch, block.head_kv, 0), from.row, first_key,
                                                      params.shape.seqlen_k, thread);
  }
  // Q or dO of one (query head, tile).
  void load_rows(const StridedTensor& from, const QueryWalk& w, ptx::SharedAddress to) const {
    tile::copy_near_rows<typename G::RowTile, C.threads()>(to, at(from, block.batch, w.head, i64(w.tile) * G::rows), from.row,
                                                           params.shape.seqlen_q - w.tile * G::rows, thread);
  }
  void load_row_stats(const QueryWalk& w, ptx::SharedAddress to) const {
    constexpr i32 copies = G::rows / 4;
    if (thread >= 2 * copies) return;
    const i64 first = (i64(block.batch) * params.shape.heads_q + w.head) * params.rows_padded + w.tile * G::rows;
    const float* from = (thread < copies ? params.row_lse2 : params.row_delta) + first + thread % copies * 4;
    ptx::cp_async_16(to + u32(thread * 16), from, true);
  }

  // V of the warp's keys as a left operand.
  void load_value_operand(tile::Operand<G::dim_blocks, G::key_blocks>& v) const {
    const i32 key = first_key + warp_first_key + tile::lane_row(lane);
    const char* from = at(params.v, block.batch, block.head_kv, key) + tile::lane_col(lane) * 2;
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) {
        const bool valid = key + m * 16 + half * 8 < params.shape.seqlen_k;
        const char* row = from + (m * 16 + half * 8) * params.v.row * 2;
#pragma unroll
        for (i32 k = 0; k < G::dim_blocks; ++k)
#pragma unroll
          for (i32 right = 0; right < 2; ++right) v.x[k][m][right * 2 + half] = valid ? ptx::load_global_32(row + k * 32 + right * 16) : 0;
      }
  }
};

}  // namespace speedlight::kernels
