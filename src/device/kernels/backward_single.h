// The single schedule: every warp takes its keys through S, P, dP, dS, dV and dK, then all warps share the dQ product.
#pragma once
#include "kernels/backward_dq.h"
#include "kernels/backward_gradient.h"
#include "kernels/backward_loads.h"
#include "kernels/backward_scores.h"
#include "kernels/backward_turns.h"

namespace speedlight::kernels {

template <BackwardConfig C>
class SingleBackward {
  using G = BackwardGeometry<C>;
  using Rows = RowLoads<C, C.tuning.warps - 1>;
  static constexpr i32 chunk_rows = G::rows / C.tuning.chunks;
  static constexpr bool two_q = C.tuning.q_stages == 2, two_dout = C.tuning.do_stages == 2, bulk = C.tuning.bulk_loads;

 public:
  explicit SingleBackward(const BackwardParams& params) : at_{params} {}

  void run() {
    dk_.clear();
    dv_.clear();
    QueryWalk walk = at_.walk(), behind = walk;
    bool some_behind = false;
    prologue(walk);
    for (i32 number = 0; !walk.done(); number = Rows::next(number)) {
      const QueryWalk ahead = walk.next();
      const Steps steps{walk, ahead, behind, some_behind};
      if (at_.unmasked(walk.tile))
        step<false>(steps, number);
      else
        step<G::masked>(steps, number);
      behind = walk, some_behind = true;
      walk = ahead;
    }
    ptx::sync_block();  // all of the shared memory is free, as every copy has been waited for, and all is added
    if (G::ordered && some_behind && at_.warp == 0) at_.hand_on(behind);
    store_gradient(at_, dv_, 1.0f, at_.shared + u32(G::shared.dv), at_.params.dv, at_.params.dv_fp32);
    store_gradient(at_, dk_, at_.params.scale, at_.shared + u32(G::shared.dk), at_.params.dk, at_.params.dk_fp32);
  }

 private:
  // This tile, the next one and the one before.
  struct Steps {
    const QueryWalk &walk, &ahead, &behind;
    bool some_behind;
  };

  void prologue(const QueryWalk& walk) {
    if (walk.done()) return;
    Rows::start(at_);
    at_.load_keys(at_.params.k, at_.shared + u32(G::shared.k));
    if constexpr (!C.tuning.v_registers) at_.load_keys(at_.params.v, at_.shared + u32(G::shared.v));
    Rows::load_q(at_, walk, 0);
    if constexpr (two_q && !two_dout) ptx::cp_async_commit();
    Rows::load_dout(at_, walk, 0);
    ptx::cp_async_commit();
    if constexpr (C.tuning.v_registers) at_.load_value_operand(v_);
  }

  // One query tile, the `number`th of the walk. Loads of the tile ahead go out as soon as their stage is free.
  template <bool Masked>
  void step(const Steps& steps, i32 number) {
    const auto& [walk, ahead, behind, some_behind] = steps;
    ptx::cp_async_wait<two_q && !two_dout && !bulk ? 1 : 0>();
    ptx::sync_block();
    Turn<C> turn(at_, walk, 0, C.tuning.warps);
    if constexpr (two_q) {
      Rows::load_q(at_, ahead, number + 1);
      if constexpr (two_dout) Rows::load_dout(at_, ahead, number + 1);
      if constexpr (!bulk) ptx::cp_async_commit();
    }
    Rows::wait_q(at_, number);
    const bool idle = Masked && at_.warp_sees_nothing(walk.tile);
#pragma unroll
    for (i32 c = 0; c < C.tuning.chunks; ++c) {
      chunk<Masked>(walk, number, c, idle);
      if (c == 0) turn.pass_on(behind, some_behind);
    }
    turn.await();
    const ptx::SharedAddress turn_word = at_.shared + u32(G::shared.turn_words);
    turn.report(turn_word);
    ptx::sync_block();  // dS is complete, and single stages are free
    if constexpr (!two_dout) {
      if constexpr (!two_q) Rows::load_q(at_, ahead, number + 1);
      Rows::load_dout(at_, ahead, number + 1);
      if constexpr (!bulk) ptx::cp_async_commit();
    }
    if (at_.params.dq_accumulator != nullptr) add_dq<Masked>(at_, walk, at_.shared + u32(G::shared.ds), turn_word);
  }

  template <bool Masked>
  void chunk(const QueryWalk& walk, i32 number, i32 c, bool idle) {
    using namespace tile;
    constexpr i32 N = chunk_rows / 8;
    const u32 down = lane_offset<Walk::down>(at_.lane), across = lane_offset<Walk::across>(at_.lane);
    const ptx::SharedAddress q = Rows::q_tile(at_, number) + u32(c * chunk_rows * 128),
                             dout = Rows::dout_tile(at_, number) + u32(c * chunk_rows * 128);
    const ptx::SharedAddress stats = Rows::row_stats(at_, number) + u32(c * chunk_rows * 4);
    const LaneAddress k{at_.shared + u32(G::shared.k), u32(at_.warp_first_key * 128) + down};

    Accumulator<G::key_blocks, N> s, dp;
    if (!idle) {
      s.clear();
      multiply_transposed_shared<G::dtype, typename G::KeyTile, typename G::RowTile, G::dim_blocks>(s, k, LaneAddress{q, across});
    }
    if (c == 0) Rows::wait_dout(at_, number);
    if constexpr (two_q && !two_dout && !bulk) {
      if (c == 0) {
        ptx::cp_async_wait<1>();  // dO of this tile
        ptx::sync_block();
      }
    }
    if (idle) return;

    // Ordered adds: the lane asked for anew spills less.
    start_from_row_delta(dp, stats + G::rows * 4, G::ordered ? ptx::lane_index() : at_.lane);
    if constexpr (C.tuning.v_registers)
      multiply_transposed<G::dtype, typename G::RowTile>(dp, v_, LaneAddress{dout, across});
    else
      multiply_transposed_shared<G::dtype, typename G::KeyTile, typename G::RowTile, G::dim_blocks>(
          dp, LaneAddress{at_.shared + u32(G::shared.v), k.lane}, LaneAddress{dout, across});

    tile::Operand<N / 2, G::key_blocks> p, ds;
    exponentiate<G::masked && !Masked>(s, at_, stats);
    if constexpr (Masked) {
      const PairMask<C> mask(at_, walk.tile * G::rows + c * chunk_rows);
      erase_invisible(s, mask);
      erase_invisible(dp, mask);
    }
    to_operand<G::dtype>(p, s);
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 n = 0; n < N; ++n)
#pragma unroll
        for (i32 x = 0; x < 4; ++x) dp.x[m][n][x] *= s.x[m][n][x];
    to_operand<G::dtype>(ds, dp);

    const ptx::SharedAddress pairs =
        at_.shared + u32(G::shared.ds + at_.warp_first_key * G::PairTile::row_bytes) + G::PairWriter::lane_offset(at_.lane);
#pragma unroll
    for (i32 m = 0; m < G::key_blocks; ++m)
#pragma unroll
      for (i32 k16 = 0; k16 < N / 2; ++k16) G::PairWriter::write(pairs, m, c * (chunk_rows / 16) + k16, ds.x[k16][m]);
    multiply<G::dtype, typename G::RowTile>(dv_, p, LaneAddress{dout, down});
    multiply<G::dtype, typename G::RowTile>(dk_, ds, LaneAddress{q, down});
  }

  BackwardContext<C> at_;
  tile::Accumulator<G::key_blocks, G::dim / 8> dk_, dv_;
  tile::Operand<C.tuning.v_registers ? G::dim_blocks : 1, G::key_blocks> v_;
};

}  // namespace speedlight::kernels
