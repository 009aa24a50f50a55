// A block's part of dQ of one query tile: the product dS K, and where it goes.
#pragma once
#include "attention/output.h"
#include "kernels/backward_context.h"
#include "tile/shared_product.h"

namespace speedlight::kernels {

// What a block knows of its turn at a query tile, where adds are ordered: whether it had come; whether the part is the first of several that are
// to be added, or the only one; and of kernels that finish dQ, whether it is the last of several, or the only one.
enum TurnBits : u32 { turn_come = 1, turn_first = 2, turn_completes = 4, turn_only = 8 };

// Rows of dQ of a tile, from a column on.
inline OutputRows dq_rows(const BackwardParams& p, i32 batch, const QueryWalk& w, i32 first_row, i32 column) {
  const i64 offset = batch * p.dq.batch + w.head * p.dq.head + first_row * p.dq.row + column;
  return {static_cast<char*>(p.dq.data) + offset * (p.dq_fp32 ? 4 : 2), p.dq.row, p.shape.seqlen_q - first_row, p.dq_fp32};
}

template <VectorAdd How>
inline void add_to(float* to, const float (&values)[4]) {
  if constexpr (How == VectorAdd::v4) {
    ptx::add_global_float4(to, values);
  } else {
#pragma unroll
    for (i32 i = 0; i < 4; ++i) ptx::add_global_float(to + i, values[i]);
  }
}

// `ds` is dS^T of the tile; its rows of keys that no row of the tile sees may not have been written, which Masked allows for. Ordered adds:
// `turn_word` holds TurnBits; where warps are split, these add before the turn has surely come.
template <bool Masked, BackwardConfig C>
inline void add_dq(const BackwardContext<C>& at, const QueryWalk& w, ptx::SharedAddress ds, ptx::SharedAddress turn_word) {
  using G = BackwardGeometry<C>;
  constexpr i32 M = G::dq.fragments_m(), N = G::dq.fragments_n();
  // What the last part finds is on its way while the product is formed, where there are registers for that.
  constexpr bool early = C.finishes() && G::split && !Masked;
  // The lane is asked for anew, here and in hand_on(): kept from the start, it costs registers that the loop does not have (84 spilled bytes
  // instead of 56, D64 band on sm_120).
  const i32 lane = ptx::lane_index(), dq_warp = at.warp % C.kv_warps(), warp_m = dq_warp / G::dq.warps_n, warp_n = dq_warp % G::dq.warps_n;
  const i32 column = warp_n * (N / 2);  // in blocks of 16
  const ptx::SharedAddress a = ds + G::PairTile::template lane_offset<tile::Walk::across>(lane, warp_m * M);
  const ptx::SharedAddress b =
      tile::block_address<typename G::KeyTile>(at.shared + u32(G::shared.k) + tile::lane_offset<tile::Walk::down>(lane), 0, column);
  float* const parts = at.params.dq_accumulator + at.tile_index(w) * G::dq.tile_floats() + G::dq.offset(dq_warp, 0, 0, lane);
  tile::Accumulator<M, N> dq;
  ptx::Words4 found[M][N];
  const auto each = [&](auto take4) {
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 n = 0; n < N; ++n) take4(parts + G::dq.offset(0, m, n, 0), dq.x[m][n], found[m][n]);
  };
  const auto find = [](const float* from, float(&)[4], ptx::Words4& there) { there = ptx::load_global_128(from); };
  const auto come = [&] {
    const u32 word = ptx::load_shared_32(turn_word);
    if constexpr (G::split) {
      if (!(word & turn_come)) at.await_turn(w);
    }
    return word;
  };

  u32 turn = 0;
  if constexpr (early) {
    turn = come();
    if (turn & turn_completes) each(find);
  }
  dq.clear();
  const auto multiply = [&](i32 key_block) {
    tile::multiply_left_transposed<G::dtype, G::rows, typename G::KeyTile>(dq, a + u32(key_block * 16 * G::PairTile::row_bytes),
                                                                           b + u32(key_block * 16 * 128));
  };
  if constexpr (!Masked) {
#pragma unroll
    for (i32 k = 0; k < G::keys / 16; ++k) multiply(k);
  } else {
    const i32 row = w.tile * G::rows - at.first_key;
    const i32 lo = larger(0, row + at.visible.lo),
              hi = smaller(smaller(G::keys, at.params.shape.seqlen_k - at.first_key), row + G::rows + at.visible.hi);
#pragma unroll 1
    for (i32 k = lo / 16; k < ceil_div(hi, 16); ++k) multiply(k);
  }
  if constexpr (G::ordered) {
    if constexpr (!early) turn = come();
    if constexpr (C.finishes()) {
      if (turn & (turn_completes | turn_only)) {
        if (turn & turn_completes) {
          if constexpr (!early) each(find);
          each([](float*, float(&x)[4], const ptx::Words4& there) {
#pragma unroll
            for (i32 i = 0; i < 4; ++i) x[i] += ptx::from_bits(there.x[i]);
          });
        }
        each([&](float*, float(&x)[4], ptx::Words4&) {
#pragma unroll
          for (i32 i = 0; i < 4; ++i) x[i] *= at.params.scale;
        });
        return store_rows<G::dtype>(dq_rows(at.params, at.block.batch, w, w.tile * G::rows, column * 16), warp_m * M * 16, dq, lane);
      }
    }
    if (turn & turn_first) {  // nothing is there to add to
      return each([](float* to, const float(&x)[4], ptx::Words4&) {
        ptx::store_global_128(to, {ptx::bits(x[0]), ptx::bits(x[1]), ptx::bits(x[2]), ptx::bits(x[3])});
      });
    }
  }
  each([](float* to, const float(&x)[4], ptx::Words4&) { add_to<C.tuning.add>(to, x); });
}

}  // namespace speedlight::kernels
