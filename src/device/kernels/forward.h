// Fused attention, forward: one block computes a tile of query rows of one (batch, head). Each warp owns 16 or 32 rows, keeps their queries,
// output and softmax state in registers, and multiplies them with every key tile that comes through the ring.
#pragma once
#include "attention/mask.h"
#include "attention/output.h"
#include "attention/schedule.h"
#include "attention/softmax.h"
#include "config/forward_shared.h"
#include "ptx/barrier.h"
#include "ptx/global.h"
#include "tile/copy.h"
#include "tile/product.h"
#include "tile/ring.h"

namespace speedlight::kernels {

template <ForwardConfig C>
class Forward {
 public:
  explicit Forward(const ForwardParams& params) : p(params) {}

  void run() {
    start();
    load_queries();
    rows.clear();
    out.clear();
    ptx::sync_block();
    // Masked stages (a window's left edge), wholly visible ones, masked ones (the diagonal, the tail).
#pragma unroll 1
    for (i32 entry = 0; entry < placed(entries_word); ++entry) {
      const bool whole = wholly_visible(entry);
      const ptx::SharedAddress stage = ring.wait(entry);
      if (whole)
        whole_stage(entry, stage);
      else
        masked_stage(entry, stage);
      ring.release(entry, lane_index() == 0);
    }
    finish();
  }

 private:
  static_assert(C.valid());
  static constexpr DType T = C.spec.dtype;
  static constexpr ForwardShared shared = forward_shared(C);
  static constexpr i32 D = C.spec.head_dim, keys = C.tuning.keys, step = C.tuning.step, steps = keys / step;
  static constexpr i32 M = C.warp_rows() / 16;  // m16 fragments a warp
  static constexpr i32 N = step / 8;            // n8 fragments of a step's scores
  using Tile = tile::Swizzled<keys, D>;
  using Scores = tile::Accumulator<M, N>;
  using Probabilities = tile::Operand<N / 2, M>;

  // What warps need now and then waits in shared memory: registers are the wall. Words of shared.place:
  enum PlaceWord { batch_word, head_word, head_kv_word, tile_word, first_key_tile_word, entries_word, lo_word, hi_word };

  // The block's place, its key tiles, and the ring's first loads.
  void start() {
    const i32 thread = ptx::thread_index();
    base = ptx::dynamic_shared();
    const ForwardPlace place = this_place();
    const i64 tile_row = i64(place.tile) * C.tuning.rows;
    const TileRange range = key_tiles(tile_row, tile_row + C.tuning.rows, p.shape.seqlen_q, p.shape.seqlen_k, window(), keys);
    const i32 entries = i32(range.count());
    if (thread == 0) {
      const Diagonals visible = diagonals(p.shape.seqlen_q, p.shape.seqlen_k, window());
      const i32 words[8] = {place.batch, place.head, place.head_kv, place.tile, i32(range.lo), entries, visible.lo, visible.hi};
#pragma unroll
      for (i32 i = 0; i < 8; ++i) ptx::store_shared_32(base + u32(shared.place + 4 * i), u32(words[i]));
    }
    if (lane_index() == 0) {
      const i64 row = tile_row + warp_row();
      const Band all = key_span(row, row + C.warp_rows(), p.shape.seqlen_q, p.shape.seqlen_k, window()).all;
      const i32 from = smaller(i32(ceil_div<i64>(all.lo, keys) - range.lo), entries), end = smaller(i32(all.hi / keys - range.lo), entries);
      ptx::store_shared_32(base + u32(shared.spans) + u32(8 * warp()), u32(from));
      ptx::store_shared_32(base + u32(shared.spans) + u32(8 * warp() + 4), u32(end));
    }
    if constexpr (C.tuning.copy == Copy::cp_async) ptx::sync_block();  // there every thread loads, and reads the place
    ring.start(base + u32(shared.ring), base + u32(shared.full), base + u32(shared.empty), entries, thread == 0, loader());
  }

  // The masks tell the compiler that no sign needs care.
  static i32 lane_index() { return ptx::lane_index() & 31; }
  static i32 warp() { return ptx::thread_index() / 32; }
  ForwardPlace this_place() const {
    return forward_place(ptx::block_index(), p.shape, p.q_tiles, p.head_group, C.spec.mask == MaskKind::band);
  }
  Window window() const { return C.spec.mask == MaskKind::none ? Window{} : p.window; }
  i32 placed(PlaceWord word) const { return i32(ptx::load_shared_32(base + u32(shared.place + 4 * word))); }
  bool wholly_visible(i32 entry) const {
    const ptx::SharedAddress span = base + u32(shared.spans) + u32(8 * warp());
    return entry >= i32(ptx::load_shared_32(span)) && entry < i32(ptx::load_shared_32(span + 4));
  }

  // First row of this warp inside the block's tile.
  i32 warp_row() const {
    bool mirrored = false;
    if constexpr (C.tuning.warps == 4) mirrored = p.sm_count > 0 && (ptx::block_index() / u32(p.sm_count) & 1) != 0;
    return (C.spec.mask == MaskKind::band ? dealt_rows(warp(), C.tuning.warps, mirrored) : warp()) * C.warp_rows();
  }

  auto loader() const {
    return [this](i32 entry, ptx::SharedAddress stage, ptx::SharedAddress barrier) {
      const i32 batch = placed(batch_word), head = placed(head_kv_word), row = (placed(first_key_tile_word) + entry) * keys;
      if constexpr (C.tuning.copy == Copy::bulk) {
        tile::copy_box<Tile>(stage, p.k_map, row, p.k_map_head ? head : 0, p.k_map_batch ? batch : 0, barrier);
        tile::copy_box<Tile>(stage + u32(Tile::bytes), p.v_map, row, p.v_map_head ? head : 0, p.v_map_batch ? batch : 0, barrier);
      } else {
        const i32 thread = ptx::thread_index();
        copy_tensor(stage, p.k, batch, head, row, thread);
        copy_tensor(stage + u32(Tile::bytes), p.v, batch, head, row, thread);
      }
    };
  }
  void copy_tensor(ptx::SharedAddress to, const StridedTensor& t, i32 batch, i32 head, i32 row, i32 thread) const {
    const char* data = static_cast<const char*>(t.data) + (batch * t.batch + head * t.head) * 2;
    tile::copy_rows<Tile, C.threads()>(to, data, t.row, row, p.shape.seqlen_k, thread);
  }

  // Query fragments straight from global memory. Rows beyond the sequence hold copies of its last row; they are not stored.
  void load_queries() {
    const i32 lane = lane_index();
    const ForwardPlace place = this_place();
    const i32 first = place.tile * C.tuning.rows + warp_row() + tile::lane_row(lane), last = p.shape.seqlen_q - 1 - first;
    const i64 stride = p.q.row * 2;
    const char* data = static_cast<const char*>(p.q.data) +
                       (place.batch * p.q.batch + place.head * p.q.head + first * p.q.row + tile::lane_col(lane)) * 2;
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) {
        const char* from = data + smaller(m * 16 + half * 8, last) * stride;
#pragma unroll
        for (i32 k = 0; k < D / 16; ++k) {
          queries.x[k][m][half] = ptx::load_global_32(from + k * 32);
          queries.x[k][m][half + 2] = ptx::load_global_32(from + k * 32 + 16);
        }
      }
  }

  // A stage all of whose keys all rows of the warp may see.
  void whole_stage(i32 entry, ptx::SharedAddress stage) {
    const ScaleRaw scale{p.scale_log2};
    bool first = false;
    Scores s[C.tuning.overlap ? 2 : 1];
    if constexpr (C.tuning.overlap) form_scores(s[0], stage);
#pragma unroll
    for (i32 t = 0; t < steps; ++t) {
      Scores& now = s[C.tuning.overlap ? t % 2 : 0];
      const ptx::SharedAddress at = stage + u32(t * step * 128);
      if constexpr (!C.tuning.overlap) form_scores(now, at);
      if (t == 0) {
        refill(entry);
        first = !rows.started();
        if (first) raise_reference(rows, out, now, scale);
      }
      Probabilities probabilities;
      StepSum<M> sum{};
      if (C.tuning.overlap && t + 1 < steps)
        form_scores(s[C.tuning.overlap ? (t + 1) % 2 : 0], at + u32(step * 128),
                    [&](i32 k) { try_some(probabilities, sum, now, k, scale); });
      else
        try_all(probabilities, sum, now, scale);
      if (ptx::any(sum.fails(rows, t == 0 && first))) {
        if constexpr (C.tuning.softmax == Softmax::recompute) form_scores(now, at);
        redo(probabilities, sum, now, scale);
      }
      accumulate(probabilities, sum, at);
    }
  }

  // A stage with masked keys; steps that no row sees are skipped.
  void masked_stage(i32 entry, ptx::SharedAddress stage) {
    refill(entry);
#pragma unroll 1
    for (i32 t = 0; t < steps; ++t) {
      const i32 key = (placed(first_key_tile_word) + entry) * keys + t * step, row = placed(tile_word) * C.tuning.rows + warp_row();
      const Diagonals visible{placed(lo_word), placed(hi_word)};
      const i32 live_rows = smaller(C.warp_rows(), p.shape.seqlen_q - row);
      if (key >= p.shape.seqlen_k || live_rows <= 0) continue;
      if (C.spec.mask == MaskKind::band && !visible.touch(key, step, row, live_rows)) continue;
      const ptx::SharedAddress at = stage + u32(t * step * 128);
      const AlreadyScaled scale;
      Scores s;
      form_scores(s, at);
      scale_and_mask<C.spec.mask>(s, p.scale_log2, row, key, p.shape.seqlen_k, visible, lane_index());
      const bool first = !rows.started();
      if (first) raise_reference(rows, out, s, scale);
      Probabilities probabilities;
      StepSum<M> sum{};
      try_all(probabilities, sum, s, scale);
      if (ptx::any(sum.fails(rows, first))) redo(probabilities, sum, s, scale);
      accumulate(probabilities, sum, at);
    }
  }

  void refill(i32 entry) {
    ring.refill(
        entry, [this] { return placed(entries_word); }, warp(), lane_index() == 0, loader());
  }
  template <class Between = tile::Nothing>
  void form_scores(Scores& s, ptx::SharedAddress at, Between between = {}) {
    s.clear();
    tile::multiply_transposed<T, Tile>(s, queries, at + tile::lane_offset<tile::Walk::across>(lane_index()), between);
  }
  template <class Scale>
  void try_all(Probabilities& probabilities, StepSum<M>& sum, const Scores& s, Scale scale) {
#pragma unroll
    for (i32 n = 0; n < N; ++n)
#pragma unroll
      for (i32 m = 0; m < M; ++m) try_probabilities<T>(probabilities, sum, s, rows, m, n, scale);
  }
  // The part of try_all that is issued beside the k-th sixteenth of the next step's product.
  template <class Scale>
  void try_some(Probabilities& probabilities, StepSum<M>& sum, const Scores& s, i32 k, Scale scale) {
    constexpr i32 part = ceil_div(M * N, D / 16);
#pragma unroll
    for (i32 i = k * part; i < smaller((k + 1) * part, M * N); ++i) try_probabilities<T>(probabilities, sum, s, rows, i % M, i / M, scale);
  }
  template <class Scale>
  void redo(Probabilities& probabilities, StepSum<M>& sum, const Scores& s, Scale scale) {
    raise_reference(rows, out, s, scale);
    exact_probabilities<T>(probabilities, sum, s, rows, scale);
  }
  void accumulate(const Probabilities& probabilities, const StepSum<M>& sum, ptx::SharedAddress at) {
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) rows.sum[m][half] += sum.x[m][half];
    tile::multiply<T, Tile>(out, probabilities, at + u32(Tile::bytes) + tile::lane_offset<tile::Walk::down>(lane_index()));
  }

  // Normalised output and LSE.
  void finish() {
    const i32 lane = lane_index();
    const i64 batch = placed(batch_word), head = placed(head_word);
    const i32 first = placed(tile_word) * C.tuning.rows + warp_row(), live = p.shape.seqlen_q - first - tile::lane_row(lane);
    float* const lse =
        p.lse == nullptr ? nullptr : p.lse + (batch * p.shape.heads_q + head) * p.shape.seqlen_q + first + tile::lane_row(lane);
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) rows.sum[m][half] = row_sum(rows.sum[m][half]);
#pragma unroll
    for (i32 m = 0; m < M; ++m)
#pragma unroll
      for (i32 half = 0; half < 2; ++half) {
        const float total = rows.sum[m][half], factor = total == 0 ? 0 : ptx::reciprocal(total);
#pragma unroll
        for (i32 n = 0; n < D / 8; ++n)
#pragma unroll
          for (i32 i = 0; i < 2; ++i) out.x[m][n][2 * half + i] *= factor;
        if (lse != nullptr && lane % 4 == 0 && m * 16 + half * 8 < live)
          ptx::store_global_float(lse + m * 16 + half * 8,
                                  total == 0 ? -ptx::infinity() : (rows.reference[m][half] + ptx::log2(total)) * 0.693147180559945f);
      }
    const OutputRows to{static_cast<char*>(p.out.data) + (batch * p.out.batch + head * p.out.head) * (p.out_fp32 ? 4 : 2), p.out.row,
                        p.shape.seqlen_q, p.out_fp32};
    store_rows<T>(to, first, out, lane);
  }

  const ForwardParams& p;
  tile::Ring<C.tuning.copy, C.tuning.stages, C.stage_bytes(), C.tuning.warps> ring;
  tile::Operand<D / 16, M> queries;
  tile::Accumulator<M, D / 8> out;
  RowState<M> rows;
  ptx::SharedAddress base;
};

// Grid: forward_blocks(shape, q_tiles); C.threads() threads; forward_shared(C).bytes of dynamic shared memory.
template <ForwardConfig C>
inline void forward(const ForwardParams& params) {
  Forward<C>(params).run();
}

}  // namespace speedlight::kernels
