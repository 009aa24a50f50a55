// The split schedule: one half of the warps computes S, P, dV and dQ, the other dP, dS and dK, each pair of warps for the same keys. P^T goes
// from warp to warp through shared memory in fragment order; dQ runs one tile behind. No barrier of the block holds the roles together: each warp
// waits for what it reads.
#pragma once
#include "kernels/backward_dq.h"
#include "kernels/backward_gradient.h"
#include "kernels/backward_loads.h"
#include "kernels/backward_scores.h"
#include "kernels/backward_turns.h"

namespace speedlight::kernels {

template <BackwardConfig C>
class SplitBackward {
  using G = BackwardGeometry<C>;
  using Rows = RowLoads<C, C.kv_warps()>;
  static constexpr i32 N = G::rows / 8, role_warps = C.kv_warps();
  using Fragments = tile::Accumulator<G::key_blocks, N>;
  using Gradient = tile::Accumulator<G::key_blocks, G::dim / 8>;

 public:
  explicit SplitBackward(const BackwardParams& params) : at_{params} {}

  void run() {
    const auto& params = at_.params;
    const QueryWalk walk = at_.walk();
    tile::Operand<G::dim_blocks, G::key_blocks> v;
    start(walk);
    if (!walk.done()) {
      at_.load_keys(params.k, at_.shared + u32(G::shared.k));
      if (!score_role()) at_.load_value_operand(v);
    }
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
    ptx::sync_block();  // the keys are there, and the mbarriers initialised
    Gradient gradient;
    gradient.clear();
    QueryWalk last = walk;
    if (score_role())
      score_warps(walk, gradient);
    else
      last = gradient_warps(walk, v, gradient);
    ptx::sync_block();  // all of the shared memory is free, and all is added
    if (score_role()) {
      store_gradient(at_, gradient, 1.0f, at_.shared + u32(G::shared.dv), params.dv, params.dv_fp32);
    } else {
      if (G::ordered && hands_on_last() && !last.done()) at_.hand_on(last);
      store_gradient(at_, gradient, params.scale, at_.shared + u32(G::shared.dk), params.dk, params.dk_fp32);
    }
  }

 private:
  // What one warp waits for and others arrive at, for each stage:
  //   p_full     P^T has been written by the score warp of the same keys
  //   ds_full    dS^T has been written by all gradient warps
  //   ds_free    the dQ product has read it, and its parts are added, by all score warps
  //   rows_free  all warps have read the rows of Q and dO, and what comes with them
  // P^T needs no more: who writes tile n has seen the rows of tile n, which came after all warps had left tile n - 2.
  enum Handoff { rows_free, ds_full, ds_free, p_full };
  static constexpr i32 handoffs = p_full + role_warps;

  ptx::SharedAddress barrier(i32 which, i32 n) const { return at_.shared + u32(G::shared.handoffs + which * 16 + (n & 1) * 8); }
  void wait(i32 which, i32 n) const { ptx::mbarrier_wait(barrier(which, n), (u32(n) & 2) != 0); }
  // Every lane arrives for what it did itself: as fast as a warp barrier and one arrival, and compute-sanitizer follows it (docs/sanitizer.md).
  void arrive(i32 which, i32 n) const { ptx::mbarrier_arrive(barrier(which, n)); }

  // The first loads, and all of the mbarriers.
  void start(const QueryWalk& walk) const {
    Rows::start(at_);
    if (at_.thread == role_warps * 32) {
#pragma unroll
      for (i32 which = 0; which < handoffs; ++which)
#pragma unroll
        for (i32 n = 0; n < 2; ++n)
          ptx::mbarrier_init(barrier(which, n), 32 * (which == rows_free ? C.tuning.warps : which < p_full ? role_warps : 1));
      ptx::mbarrier_fence_init();
    }
    Rows::load_q(at_, walk, 0);
  }

  bool score_role() const { return at_.warp < role_warps; }
  i32 pair() const { return p_full + at_.warp % role_warps; }
  ptx::SharedAddress ds_tile(i32 n) const { return at_.shared + u32(G::shared.ds + (n & 1) * G::keys * G::rows * 2); }
  // This lane's place in the warp's P^T: fragment (m, k16) is 512 bytes further each.
  ptx::SharedAddress p_fragments(i32 n) const {
    return at_.shared + u32(G::shared.p + (n & 1) * G::keys * G::rows * 2 + at_.warp_first_key * G::rows * 2 + at_.lane * 16);
  }
  // The turn at a tile: from the gradient warps, which look, to the others.
  ptx::SharedAddress turn_word(i32 n) const { return at_.shared + u32(G::shared.turn_words + (n & 1) * 4); }

  // Tile n, and the dQ product of tile n - 1.
  void score_warps(QueryWalk walk, Gradient& dv) const {
    QueryWalk behind = walk;
    bool plain_behind = false;
    i32 n = 0;
    for (; !walk.done(); ++n) {
      const QueryWalk ahead = walk.next();
      Rows::wait_q(at_, n);
      const bool plain = at_.unmasked(walk.tile) && at_.params.dq_accumulator != nullptr;
      if (plain && plain_behind) {  // without a branch, so that the products of both tiles are scheduled together
        scores<false>(walk, n, dv, [&] { wait(ds_full, n - 1); });
        add_dq<false>(behind, n - 1);
      } else {
        if (!at_.warp_sees_nothing(walk.tile))
          scores<G::masked>(walk, n, dv, [] {});
        else
          arrive(pair(), n);
        if (n > 0 && at_.params.dq_accumulator != nullptr) {
          wait(ds_full, n - 1);
          add_dq<G::masked>(behind, n - 1);
        }
      }
      // Without dQ the roles keep within two tiles of one another all the same.
      if (n > 0 && at_.params.dq_accumulator == nullptr) wait(ds_full, n - 1);
      if (n > 0) arrive(ds_free, n - 1);
      arrive(rows_free, n);
      plain_behind = plain;
      behind = walk;
      walk = ahead;
    }
    if (n > 0 && at_.params.dq_accumulator != nullptr) {
      wait(ds_full, n - 1);
      add_dq<G::masked>(behind, n - 1);
    }
  }

  // Returns the last tile, whose dQ is not handed on.
  QueryWalk gradient_warps(QueryWalk walk, const tile::Operand<G::dim_blocks, G::key_blocks>& v, Gradient& dk) {
    QueryWalk behind = walk, added = walk;  // the tile before, and the one before that, whose dQ is added once ds_free says so
    i32 n = 0;
    for (; !walk.done(); ++n) {
      const QueryWalk ahead = walk.next();
      Rows::wait_q(at_, n);
      Turn<C> turn(at_, walk, role_warps, role_warps);
      // While P may be on its way.
      const auto meanwhile = [&] {
        refill(ahead, n + 1);
        if (n >= 2) wait(ds_free, n - 2);
        turn.pass_on(added, n >= 2);
      };
      const auto written = [&] {
        turn.report(turn_word(n));
        arrive(ds_full, n);
      };
      if (at_.unmasked(walk.tile))
        score_gradients<false>(walk, n, v, dk, meanwhile, written);
      else if (!at_.warp_sees_nothing(walk.tile))
        score_gradients<G::masked>(walk, n, v, dk, meanwhile, written);
      else
        meanwhile(), wait(pair(), n), written();  // each arrival is waited for
      arrive(rows_free, n);
      added = behind, behind = walk;
      walk = ahead;
    }
    if (G::ordered && hands_on_last() && n > 1) {
      wait(ds_free, n - 2);
      at_.hand_on(added);
    }
    return behind;
  }
  bool hands_on_last() const { return at_.warp == C.tuning.warps - 1; }
  // Tile n, as soon as all warps have left the stage.
  void refill(const QueryWalk& walk, i32 n) const {
    if (at_.warp != role_warps || walk.done()) return;
    if (n >= 2) wait(rows_free, n - 2);
    Rows::load_q(at_, walk, n);
  }

  template <bool Masked>
  void add_dq(const QueryWalk& walk, i32 number) const {
    kernels::add_dq<Masked>(at_, walk, ds_tile(number), turn_word(number));
  }

  // S, P and dV of one tile; hands P over. `handed` runs after that.
  template <bool Masked>
  void scores(const QueryWalk& walk, i32 number, Gradient& dv, auto handed) const {
    using namespace tile;
    const auto& at = at_;
    const ptx::SharedAddress k = at.shared + u32(G::shared.k + at.warp_first_key * 128) + lane_offset<Walk::down>(at.lane);
    Fragments s;
    s.clear();
    multiply_transposed_shared<G::dtype, typename G::KeyTile, typename G::RowTile, G::dim_blocks>(
        s, k, Rows::q_tile(at, number) + lane_offset<Walk::across>(at.lane));
    exponentiate<G::masked && !Masked>(s, at, Rows::row_stats(at, number));
    if constexpr (Masked) erase_invisible(s, PairMask<C>(at, walk.tile * G::rows));
    tile::Operand<N / 2, G::key_blocks> p;
    to_operand<G::dtype>(p, s);
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 k16 = 0; k16 < N / 2; ++k16) {
        const u32(&w)[4] = p.x[k16][m];
        ptx::store_shared_128(p_fragments(number) + u32((m * (N / 2) + k16) * 512), {w[0], w[1], w[2], w[3]});
      }
    arrive(pair(), number);
    handed();
    multiply<G::dtype, typename G::RowTile>(dv, p, Rows::dout_tile(at, number) + lane_offset<Walk::down>(at.lane));
  }

  // dP, dS and dK of one tile; leaves dS for the dQ product. `meanwhile` runs before P is waited for, `written` after dS.
  template <bool Masked>
  void score_gradients(const QueryWalk& walk, i32 number, const tile::Operand<G::dim_blocks, G::key_blocks>& v, Gradient& dk,
                       auto meanwhile, auto written) const {
    using namespace tile;
    const auto& at = at_;
    Fragments dp;
    start_from_row_delta(dp, Rows::row_stats(at, number) + G::rows * 4, at.lane);
    multiply_transposed<G::dtype, typename G::RowTile>(dp, v, Rows::dout_tile(at, number) + lane_offset<Walk::across>(at.lane));
    if constexpr (Masked) erase_invisible(dp, PairMask<C>(at, walk.tile * G::rows));
    meanwhile();
    wait(pair(), number);
    const ptx::SharedAddress pairs =
        ds_tile(number) + u32(at.warp_first_key * G::PairTile::row_bytes) + G::PairWriter::lane_offset(at.lane);
    tile::Operand<N / 2, G::key_blocks> ds;
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 k16 = 0; k16 < N / 2; ++k16) {
        const ptx::Words4 p = ptx::load_shared_128(p_fragments(number) + u32((m * (N / 2) + k16) * 512));
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          const float(&d)[4] = dp.x[m][2 * k16 + i / 2];
          ds.x[k16][m][i] =
              ptx::pack<G::dtype>(ptx::unpack_lo<G::dtype>(p.x[i]) * d[i % 2 * 2], ptx::unpack_hi<G::dtype>(p.x[i]) * d[i % 2 * 2 + 1]);
        }
        G::PairWriter::write(pairs, m, k16, ds.x[k16][m]);
      }
    written();
    multiply<G::dtype, typename G::RowTile>(dk, ds, Rows::q_tile(at, number) + lane_offset<Walk::down>(at.lane));
  }

  BackwardContext<C> at_;
};

}  // namespace speedlight::kernels
