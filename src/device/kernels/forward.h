// Fused attention, forward: one block computes a tile of query rows of one (batch, head). Each warp owns 16 or 32 rows, keeps their queries,
// output and softmax state in registers, and multiplies them with every key tile that comes through the ring.
#pragma once
#include "attention/lse.h"
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
    const ForwardPlace place = forward_place(ptx::block_index(), p.shape, p.q_tiles, p.head_group, C.spec.mask == MaskKind::band);
    const i32 warp = ptx::broadcast(i32(u32(ptx::thread_index()) / 32), 0), row = place.tile * C.tuning.rows + warp_row(warp);
    base = ptx::dynamic_shared();
    // Not worked out from `warp`: the compiler would keep both, and D128's loop has no register for that.
    own_words = base + u32(shared.own) + u32(ptx::broadcast(ptx::thread_index() & ~31, 0) / 2);
    start(place, warp, row);
    rows.clear();
    out.clear();
    ptx::sync_block();
    read_queries(warp_row(warp));
    // Masked stages (a window's left edge), wholly visible ones, masked ones (the diagonal, the tail). Lanes agree: any() says so.
    for (i32 entry = query_entries;;) {
      if (ptx::any(entry >= own(whole_from_word))) {
#pragma unroll 1
        for (; ptx::any(entry < own(whole_end_word)); ++entry) {
          whole_stage(entry, ring.wait(entry));
          ring.release(entry);
        }
      }
      if (!ptx::any(entry < own(end_word))) break;
      masked_stage(entry, ring.wait(entry));
      ring.release(entry);
      ++entry;
    }
    finish();
  }

 private:
  static_assert(C.valid());
  static constexpr DType T = C.spec.dtype;
  static constexpr ForwardShared shared = forward_shared(C);
  static constexpr i32 D = C.spec.head_dim, keys = C.tuning.keys, step = C.tuning.step, steps = keys / step;
  static constexpr i32 M = C.warp_rows() / 16;             // m16 fragments a warp
  static constexpr i32 N = step / 8;                       // n8 fragments of a step's scores
  static constexpr i32 query_entries = C.query_entries();  // the ring's first
  // The producer of a bulk copy waits for the slowest warp to leave the stage before. With more than two stages there is time to do so in the
  // middle of this one; beside an overlapped product the code for it costs more than that wins (docs/performance.md, item 31).
  static constexpr bool refills_late = C.tuning.copy == Copy::bulk && C.tuning.stages > 2 && !C.tuning.overlap;
  static constexpr i32 refill_step = refills_late ? steps / 2 : 0;
  using Tile = tile::Swizzled<keys, D>;
  using QueryTile = tile::Swizzled<C.query_rows(), D>;
  using Scores = tile::Accumulator<M, N>;
  using Probabilities = tile::Operand<N / 2, M>;

  // What warps need now and then waits in shared memory: registers are the wall. Words of shared.place, and of each warp in shared.own:
  enum PlaceWord {
    k_head_word,
    k_batch_word,
    v_head_word,
    v_batch_word,
    first_key_word,
    entries_word,
    lo_word,
    hi_word,
    batch_word,
    head_word
  };
  enum OwnWord { whole_from_word, whole_end_word, end_word, row_word };
  struct KvPlace {
    i32 k_head, k_batch, v_head, v_batch;
  };

  // The ring's first loads, and the words of shared.place and shared.own.
  void start(const ForwardPlace& place, i32 warp, i32 row) {
    const Diagonals visible = C.spec.mask == MaskKind::band ? diagonals(p.shape.seqlen_q, p.shape.seqlen_k, p.window) : Diagonals::all();
    const Stages block = stages(visible.keys(place.tile * C.tuning.rows, C.tuning.rows, p.shape.seqlen_q, p.shape.seqlen_k));
    const i32 first = block.some_from - query_entries, entries = larger(block.some_end - first, query_entries);  // entry e: stage first + e
    KvPlace kv{place.head_kv, place.batch, place.head_kv, place.batch};
    if constexpr (C.tuning.copy == Copy::bulk)
      kv = {p.k_map_head ? kv.k_head : 0, p.k_map_batch ? kv.k_batch : 0, p.v_map_head ? kv.v_head : 0, p.v_map_batch ? kv.v_batch : 0};
    ring.start(base + u32(shared.ring), base + u32(shared.full), base + u32(shared.empty), entries, warp == 0,
               [&](i32 entry, ptx::SharedAddress stage, ptx::SharedAddress barrier) {
                 if (entry < query_entries)
                   load_queries(place, entry * C.query_rows(), stage, barrier);
                 else
                   load(kv, (first + entry) * keys, stage, barrier);
               });
    if (lane_index() != 0) return;
    if (warp == 0) {
      put(shared.place, kv.k_head, kv.k_batch, kv.v_head, kv.v_batch);
      put(shared.place + 16, first * keys, entries, visible.lo, visible.hi);
      put(shared.place + 32, place.batch, place.head, 0, 0);
    }
    const Stages mine = stages(visible.keys(row, C.warp_rows(), p.shape.seqlen_q, p.shape.seqlen_k));
    const i32 seen_end = larger(query_entries, smaller(mine.some_end - first, entries));
    // Entries that the warp does not see still need its release (and its turn as producer) while others are to take their place.
    const i32 end = C.tuning.copy == Copy::bulk ? larger(seen_end, entries - C.tuning.stages + 1) : entries;
    put(shared.own + 16 * warp, mine.all_from - first, smaller(mine.all_end - first, seen_end), end, row);
  }
  // Stages of the whole sequence that hold keys which some row sees, and those that hold nothing else than keys which all rows see.
  struct Stages {
    i32 some_from, some_end, all_from, all_end;
  };
  static Stages stages(const Diagonals::Keys& k) {
    return {i32(u32(k.some_from) / keys), k.some_end > k.some_from ? i32((u32(k.some_end) + keys - 1) / keys) : 0,
            i32((u32(k.all_from) + keys - 1) / keys), i32(u32(larger(k.all_end, 0)) / keys)};
  }
  void put(i32 at, i32 a, i32 b, i32 c, i32 d) const { ptx::store_shared_128(base + u32(at), {{u32(a), u32(b), u32(c), u32(d)}}); }

  // The compiler learns that no sign needs care.
  static i32 lane_index() {
    const i32 lane = ptx::lane_index();
    if (lane < 0 || lane >= 32) __builtin_unreachable();
    return lane;
  }
  i32 placed(PlaceWord word) const { return i32(ptx::load_shared_32(base + u32(shared.place + 4 * word))); }
  i32 own(OwnWord word) const { return i32(ptx::load_shared_32(own_words + u32(4 * word))); }

  // First row of this warp inside the block's tile.
  i32 warp_row(i32 warp) const {
    bool mirrored = false;
    if constexpr (C.tuning.warps == 4) mirrored = p.sm_count > 0 && (ptx::block_index() / u32(p.sm_count) & 1) != 0;
    return (C.spec.mask == MaskKind::band ? dealt_rows(warp, C.tuning.warps, mirrored) : warp) * C.warp_rows();
  }

  // Keys and values from `key` on, into a stage.
  void load(const KvPlace& kv, i32 key, ptx::SharedAddress stage, ptx::SharedAddress barrier) const {
    if constexpr (C.tuning.copy == Copy::bulk) {
      ptx::mbarrier_arrive_expect(barrier, C.stage_bytes());
      tile::copy_box<Tile>(stage, p.k_map, key, kv.k_head, kv.k_batch, barrier);
      tile::copy_box<Tile>(stage + u32(Tile::bytes), p.v_map, key, kv.v_head, kv.v_batch, barrier);
    } else {
      copy_tensor<Tile>(stage, p.k, kv.k_batch, kv.k_head, key, p.shape.seqlen_k);
      copy_tensor<Tile>(stage + u32(Tile::bytes), p.v, kv.v_batch, kv.v_head, key, p.shape.seqlen_k);
    }
  }
  template <class Rows>
  static void copy_tensor(ptx::SharedAddress to, const StridedTensor& t, i32 batch, i32 head, i32 row, i32 row_end) {
    const char* data = static_cast<const char*>(t.data) + (batch * t.batch + head * t.head) * 2;
    tile::copy_rows<Rows, C.threads()>(to, data, t.row, row, row_end, ptx::thread_index());
  }

  // The block's queries from row `row` of its tile on, into a stage. Rows beyond the sequence are zeros, and are not stored.
  void load_queries(const ForwardPlace& place, i32 row, ptx::SharedAddress stage, ptx::SharedAddress barrier) const {
    const i32 first = place.tile * C.tuning.rows + row;
    if constexpr (C.tuning.copy == Copy::bulk) {
      ptx::mbarrier_arrive_expect(barrier, QueryTile::bytes);
      tile::copy_box<QueryTile>(stage, p.q_map, first, p.q_map_head ? place.head : 0, p.q_map_batch ? place.batch : 0, barrier);
    } else {
      copy_tensor<QueryTile>(stage, p.q, place.batch, place.head, first, p.shape.seqlen_q);
    }
  }
  // The warp's query fragments; its rows begin at `row` of the block's tile.
  void read_queries(i32 row) {
#pragma unroll 1
    for (i32 entry = 0; entry < query_entries; ++entry) {
      const ptx::SharedAddress stage = ring.wait(entry);
      refill(entry);
      if (ptx::any(row / C.query_rows() == entry)) {
        const ptx::SharedAddress at = stage + u32(row % C.query_rows() * 128) + tile::lane_offset<tile::Walk::down>(lane_index());
#pragma unroll
        for (i32 k = 0; k < D / 16; ++k)
#pragma unroll
          for (i32 m = 0; m < M; ++m) ptx::ldmatrix_x4(queries.x[k][m], tile::block_address<QueryTile>(at, m, k));
      }
      ring.release(entry);
    }
  }

  // A stage all of whose keys all rows of the warp may see.
  void whole_stage(i32 entry, ptx::SharedAddress stage) {
    const Scale scale{p.scale_log2};
    bool first = false;
    Scores s[C.tuning.overlap ? 2 : 1];
    if constexpr (C.tuning.overlap) form_scores(s[0], stage);
#pragma unroll
    for (i32 t = 0; t < steps; ++t) {
      Scores& now = s[C.tuning.overlap ? t % 2 : 0];
      const ptx::SharedAddress at = stage + u32(t * step * 128);
      if constexpr (!C.tuning.overlap) form_scores(now, at);
      if (t == refill_step) refill(entry);
      if (t == 0) {
        first = ptx::any(!rows.started());
        if (first) [[unlikely]]
          begin_reference(rows, now, scale);
      }
      Probabilities probabilities;
      StepSum<M> sum{};
      if (C.tuning.overlap && t + 1 < steps)
        form_scores(s[C.tuning.overlap ? (t + 1) % 2 : 0], at + u32(step * 128),
                    [&](i32 k) { try_some(probabilities, sum, now, k, scale); });
      else
        try_all(probabilities, sum, now, scale);
      if (fails(sum, t == 0 && first)) [[unlikely]] {
        raise_reference(rows, out, now, scale);
        exact_probabilities<T>(probabilities, sum, now, rows, scale);
      }
      accumulate(probabilities, sum, at);
    }
  }

  // A stage with masked keys; steps that no row sees are skipped.
  void masked_stage(i32 entry, ptx::SharedAddress stage) {
    refill(entry);
    const i32 row = own(row_word), live_rows = smaller(C.warp_rows(), p.shape.seqlen_q - row);
    const i32 first_key = placed(first_key_word) + entry * keys;
    const Diagonals visible{placed(lo_word), placed(hi_word)};
#pragma unroll 1
    for (i32 t = 0; t < steps; ++t) {
      const i32 key = first_key + t * step;
      if (!ptx::any(key < p.shape.seqlen_k && live_rows > 0 && visible.touch(key, step, row, live_rows))) continue;
      const ptx::SharedAddress at = stage + u32(t * step * 128);
      Scores s;
      form_scores(s, at);
      const VisiblePairs<C.spec.mask, M, N> pairs(row, key, p.shape.seqlen_k, visible, lane_index());
      const MaskedScale scale{Scale{p.scale_log2}, pairs};
      Probabilities probabilities;
      StepSum<M> sum{};
      bool again = ptx::any(!rows.started());
      if (!again) {
        try_all(probabilities, sum, s, scale);
        again = fails(sum, false);
      }
      if (again) {
        if (ptx::any(rows.started()))
          raise_reference(rows, out, s, scale);
        else
          begin_reference(rows, s, scale);
        exact_probabilities<T>(probabilities, sum, s, rows, scale);
      }
      accumulate(probabilities, sum, at);
    }
  }

  void refill(i32 entry) {
    ring.refill(
        entry, [this] { return placed(entries_word); }, own_words == base + u32(shared.own) + u32(entry) % C.tuning.warps * 16,
        [this](i32 later, ptx::SharedAddress stage, ptx::SharedAddress barrier) {
          const ptx::Words4 kv = ptx::load_shared_128(base + u32(shared.place));
          load({i32(kv.x[0]), i32(kv.x[1]), i32(kv.x[2]), i32(kv.x[3])}, placed(first_key_word) + later * keys, stage, barrier);
        });
  }
  template <class Between = tile::Nothing>
  void form_scores(Scores& s, ptx::SharedAddress at, Between between = {}) {
    s.clear();
    tile::multiply_transposed<T, Tile>(s, queries, at + tile::lane_offset<tile::Walk::across>(lane_index()), between);
  }
  template <class How>
  void try_all(Probabilities& probabilities, StepSum<M>& sum, const Scores& s, How scale) {
#pragma unroll
    for (i32 n = 0; n < N; ++n)
#pragma unroll
      for (i32 m = 0; m < M; ++m) try_probabilities<T>(probabilities, sum, s, rows, m, n, scale);
  }
  // The part of try_all that is issued beside the k-th sixteenth of the next step's product.
  template <class How>
  void try_some(Probabilities& probabilities, StepSum<M>& sum, const Scores& s, i32 k, How scale) {
    constexpr i32 part = ceil_div(M * N, D / 16);
#pragma unroll
    for (i32 i = k * part; i < smaller((k + 1) * part, M * N); ++i) try_probabilities<T>(probabilities, sum, s, rows, i % M, i / M, scale);
  }
  // What was tried has to be done once more, with the true maximum; where it only came upon the limit, that is raised. `first`: the reference is
  // this step's maximum.
  bool fails(const StepSum<M>& sum, bool first) {
    if (!ptx::any(sum.suspicious(rows))) [[likely]]
      return false;
    if (ptx::any(sum.fails(rows, first))) return true;
    sum.raise_limit(rows);
    return false;
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
    const i32 first = own(row_word), live = p.shape.seqlen_q - first - tile::lane_row(lane);
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
                                  total == 0 ? -ptx::infinity() : natural_lse(-rows.minus_reference[m][half], ptx::log2(total)));
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
  ptx::SharedAddress own_words;  // this warp's part of shared.own
};

// Grid: forward_blocks(shape, q_tiles); C.threads() threads; forward_shared(C).bytes of dynamic shared memory.
template <ForwardConfig C>
inline void forward(const ForwardParams& params) {
  Forward<C>(params).run();
}

}  // namespace speedlight::kernels
