// The split schedule: one half of the warps computes S, P, dV and dQ, the other dP, dS and dK, each pair of warps for the same keys. P^T goes
// from warp to warp through shared memory in fragment order; dQ runs one tile behind, so that a tile needs one barrier of the block.
#pragma once
#include "kernels/backward_dq.h"
#include "kernels/backward_gradient.h"
#include "kernels/backward_loads.h"
#include "kernels/backward_scores.h"
#include "kernels/backward_turns.h"

namespace speedlight::kernels {

// Loads and barriers that both roles go through in step.
template <BackwardConfig C>
struct SplitPipeline {
  using G = BackwardGeometry<C>;
  static constexpr bool bulk = C.tuning.bulk_loads, dp_loads = C.tuning.split_loads || bulk;
  using Rows = RowLoads<C, C.tuning.split_loads ? C.threads() / 2 : C.threads(), C.kv_warps()>;

  BackwardContext<C> at;

  explicit SplitPipeline(const BackwardParams& params) : at{params} {}

  bool score_role() const { return at.warp < C.kv_warps(); }
  ptx::SharedAddress ds_tile(i32 stage) const { return at.shared + u32(G::shared.ds + stage * G::keys * G::rows * 2); }
  // This lane's place in the warp's P^T: fragment (m, k16) is 512 bytes further each.
  ptx::SharedAddress p_fragments() const { return at.shared + u32(G::shared.p + at.warp_first_key * G::rows * 2 + at.lane * 16); }
  // The turn at this tile, or the one before: from the dP warps, which look, to the others, which add a tile later.
  ptx::SharedAddress turn_word(i32 stage) const { return at.shared + u32(G::shared.turn_words + stage * 4); }
  i32 pair_barrier() const { return 1 + at.warp % C.kv_warps(); }
  // All of the block; the roles come from different places of the code.
  static void meet() { ptx::sync_named(1 + C.kv_warps(), C.threads()); }

  template <bool ScoreRole>
  void load(const QueryWalk& walk, i32 number) const {
    if (ScoreRole && dp_loads) return;
    Rows::load_q(at, walk, number);
    Rows::load_dout(at, walk, number);
  }
  // The `number`th tile has arrived for all, and the other stage is free: the tile ahead goes there.
  template <bool ScoreRole>
  void advance(const QueryWalk& ahead, i32 number) const {
    if constexpr (!bulk) ptx::cp_async_wait<0>();
    meet();
    load<ScoreRole>(ahead, number + 1);
    if constexpr (!bulk) ptx::cp_async_commit();
    Rows::wait_q(at, number);
    Rows::wait_dout(at, number);
  }
};

template <BackwardConfig C>
class SplitBackward {
  using G = BackwardGeometry<C>;
  using Rows = typename SplitPipeline<C>::Rows;
  static constexpr i32 N = G::rows / 8;
  using Fragments = tile::Accumulator<G::key_blocks, N>;
  using Gradient = tile::Accumulator<G::key_blocks, G::dim / 8>;

 public:
  explicit SplitBackward(const BackwardParams& params) : pipe_(params) {}

  void run() {
    const auto& params = pipe_.at.params;
    const QueryWalk walk = pipe_.at.walk();
    Rows::start(pipe_.at);
    if (!walk.done()) pipe_.at.load_keys(params.k, pipe_.at.shared + u32(G::shared.k));
    Gradient gradient;
    gradient.clear();
    if (pipe_.score_role()) {
      score_warps(walk, gradient);
      store_gradient(pipe_.at, gradient, 1.0f, pipe_.at.shared + u32(G::shared.dv), params.dv, params.dv_fp32);
    } else {
      gradient_warps(walk, gradient);
      store_gradient(pipe_.at, gradient, params.scale, pipe_.at.shared + u32(G::shared.dk), params.dk, params.dk_fp32);
    }
  }

 private:
  void score_warps(QueryWalk walk, Gradient& dv) {
    pipe_.template load<true>(walk, 0);
    ptx::cp_async_commit();
    if constexpr (C.tuning.bulk_loads) ptx::cp_async_wait<0>();  // the keys
    QueryWalk behind = walk;
    bool first = true, plain_behind = false;
    i32 number = 0;
    for (; !walk.done(); number = Rows::next(number)) {
      const i32 stage = number & 1;
      const QueryWalk ahead = walk.next();
      pipe_.template advance<true>(ahead, number);
      const bool plain = pipe_.at.unmasked(walk.tile) && pipe_.at.params.dq_accumulator != nullptr;
      if (plain && plain_behind) {  // without a branch, so that the products of both tiles are scheduled together
        scores<false>(walk, number, dv);
        add_dq<false>(behind, stage ^ 1);
      } else {
        if (!pipe_.at.warp_sees_nothing(walk.tile)) scores<G::masked>(walk, number, dv);
        if (!first && pipe_.at.params.dq_accumulator != nullptr) add_dq<G::masked>(behind, stage ^ 1);
      }
      first = false, plain_behind = plain;
      behind = walk;
      walk = ahead;
    }
    pipe_.meet();  // the last dS
    if (!first && pipe_.at.params.dq_accumulator != nullptr) add_dq<G::masked>(behind, (number & 1) ^ 1);
    pipe_.meet();  // all of the shared memory is free
  }

  void gradient_warps(QueryWalk walk, Gradient& dk) {
    pipe_.template load<false>(walk, 0);
    ptx::cp_async_commit();
    tile::Operand<G::dim_blocks, G::key_blocks> v;
    if (!walk.done()) pipe_.at.load_value_operand(v);
    if constexpr (C.tuning.bulk_loads) ptx::cp_async_wait<0>();  // the keys
    QueryWalk behind = walk, added = walk;                       // the tile before, and the one before that, whose dQ has been added
    i32 tiles = 0;
    for (i32 number = 0; !walk.done(); number = Rows::next(number), ++tiles) {
      const QueryWalk ahead = walk.next();
      pipe_.template advance<false>(ahead, number);
      Turn<C> turn(pipe_.at, walk, C.kv_warps(), C.kv_warps());
      const auto pass_on = [&] { turn.pass_on(added, tiles >= 2); };
      if (pipe_.at.unmasked(walk.tile))
        score_gradients<false>(walk, number, v, dk, pass_on);
      else if (!pipe_.at.warp_sees_nothing(walk.tile))
        score_gradients<G::masked>(walk, number, v, dk, pass_on);
      else
        pass_on();
      turn.report(pipe_.turn_word(number & 1));
      added = behind, behind = walk;
      walk = ahead;
    }
    const bool hands_on = G::ordered && pipe_.at.warp == C.tuning.warps - 1;
    pipe_.meet();
    if (hands_on && tiles >= 2) pipe_.at.hand_on(added);
    pipe_.meet();
    if (hands_on && tiles >= 1) pipe_.at.hand_on(behind);
  }

  template <bool Masked>
  void add_dq(const QueryWalk& walk, i32 stage) const {
    kernels::add_dq<Masked>(pipe_.at, walk, pipe_.ds_tile(stage), pipe_.turn_word(stage));
  }

  // S, P and dV of one tile; hands P over.
  template <bool Masked>
  void scores(const QueryWalk& walk, i32 number, Gradient& dv) {
    using namespace tile;
    const auto& at = pipe_.at;
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
        ptx::store_shared_128(pipe_.p_fragments() + u32((m * (N / 2) + k16) * 512), {w[0], w[1], w[2], w[3]});
      }
    ptx::arrive_named(pipe_.pair_barrier(), 64);
    multiply<G::dtype, typename G::RowTile>(dv, p, Rows::dout_tile(at, number) + lane_offset<Walk::down>(at.lane));
  }

  // dP, dS and dK of one tile; leaves dS for the dQ product. `pass_on` runs while P may be on its way.
  template <bool Masked>
  void score_gradients(const QueryWalk& walk, i32 number, const tile::Operand<G::dim_blocks, G::key_blocks>& v, Gradient& dk,
                       auto pass_on) {
    using namespace tile;
    const auto& at = pipe_.at;
    Fragments dp;
    start_from_row_delta(dp, Rows::row_stats(at, number) + G::rows * 4, at.lane);
    multiply_transposed<G::dtype, typename G::RowTile>(dp, v, Rows::dout_tile(at, number) + lane_offset<Walk::across>(at.lane));
    if constexpr (Masked) erase_invisible(dp, PairMask<C>(at, walk.tile * G::rows));
    pass_on();
    ptx::sync_named(pipe_.pair_barrier(), 64);  // P has arrived
    const ptx::SharedAddress pairs =
        pipe_.ds_tile(number & 1) + u32(at.warp_first_key * G::PairTile::row_bytes) + G::PairWriter::lane_offset(at.lane);
    tile::Operand<N / 2, G::key_blocks> ds;
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 k16 = 0; k16 < N / 2; ++k16) {
        const ptx::Words4 p = ptx::load_shared_128(pipe_.p_fragments() + u32((m * (N / 2) + k16) * 512));
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
          const float(&d)[4] = dp.x[m][2 * k16 + i / 2];
          ds.x[k16][m][i] =
              ptx::pack<G::dtype>(ptx::unpack_lo<G::dtype>(p.x[i]) * d[i % 2 * 2], ptx::unpack_hi<G::dtype>(p.x[i]) * d[i % 2 * 2 + 1]);
        }
        G::PairWriter::write(pairs, m, k16, ds.x[k16][m]);
      }
    multiply<G::dtype, typename G::RowTile>(dk, ds, Rows::q_tile(at, number) + lane_offset<Walk::down>(at.lane));
  }

  SplitPipeline<C> pipe_;
};

}  // namespace speedlight::kernels
