// Backward in two passes without atomics: dK and dV by key tile, dQ by query tile. The second pass computes scores and dP again, 7 products
// instead of 5; in return all tiles are independent, no accumulator as large as dQ is needed for each thread, and the bits never change.
#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/geometry.h"
#include "cpu/passes.h"
#include "cpu/scratch.h"
#include "cpu/thread_pool.h"

namespace speedlight::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Tiles of one thread; those of a query tile and of a key tile. Which of them accumulate depends on the pass.
struct BackwardTiles {
  const Problem& p;
  const Pointers& pointers;
  const Kernels& kernels;
  const std::vector<float>& terms;  // dLSE - delta, (batch, heads_q, seqlen_q)
  Rows* visible;
  float *q, *dout, *out, *k, *v, *s, *dp, *dq, *dk, *dv, *lse, *factor;

  BackwardTiles(const Problem& p, const Pointers& pointers, const Kernels& kernels, const std::vector<float>& terms, Scratch& scratch)
      : p(p), pointers(pointers), kernels(kernels), terms(terms) {
    const i64 rows = smaller(tile_size, p.seqlen_q), keys = smaller(tile_size, p.seqlen_k);
    const i64 sizes[] = {rows * p.head_dim,
                         rows * p.value_dim,
                         rows * p.value_dim,
                         keys * p.head_dim,
                         keys * p.value_dim,
                         rows * keys,
                         rows * keys,
                         rows * p.head_dim,
                         keys * p.head_dim,
                         keys * p.value_dim,
                         rows,
                         larger(rows, keys)};
    i64 total = 0;
    for (const i64 size : sizes) total += Scratch::padded(size);
    scratch.reset(total, larger(rows, keys));
    visible = scratch.ranges();
    float** const parts[] = {&q, &dout, &out, &k, &v, &s, &dp, &dq, &dk, &dv, &lse, &factor};
    for (int i = 0; i < 12; ++i) *parts[i] = scratch.take(sizes[i]);
  }

  i64 row_index(i64 batch, i64 head, Span queries) const { return (batch * p.heads_q + head) * p.seqlen_q + queries.first; }

  void load_keys(i64 batch, i64 head_kv, Span keys) {
    kernels.load(k, address(pointers.k, p.k, batch, keys.first, head_kv), p.k.dtype, p.k.row, keys.count, p.head_dim);
    kernels.load(v, address(pointers.v, p.v, batch, keys.first, head_kv), p.v.dtype, p.v.row, keys.count, p.value_dim);
  }

  void load_queries(i64 batch, i64 head, Span queries) {
    kernels.load(q, address(pointers.q, p.q, batch, queries.first, head), p.q.dtype, p.q.row, queries.count, p.head_dim);
    kernels.load(dout, address(pointers.dout, p.dout, batch, queries.first, head), p.dout.dtype, p.dout.row, queries.count, p.value_dim);
    const float* from = pointers.lse + row_index(batch, head, queries);
    for (i64 i = 0; i < queries.count; ++i) lse[i] = from[i] == -infinity ? infinity : from[i];  // exp(score - inf) is 0
  }

  // Adds one query tile of one head to dK and dV of the key tile at hand.
  void add_queries(i64 batch, i64 head, Span queries, Span keys) {
    load_queries(batch, head, queries);
    const float* term = terms.data() + row_index(batch, head, queries);
    kernels.scores(s, k, q, p.scale, keys.count, queries.count, p.head_dim);
    if (p.want_dk) kernels.scores(dp, v, dout, 1, keys.count, queries.count, p.value_dim);
    keys_of_queries(visible, p, queries, keys);
    kernels.gradient_by_column(s, p.want_dk ? dp : nullptr, visible, lse, term, keys.count, queries.count);
    if (p.want_dv) kernels.accumulate(dv, s, dout, keys.count, p.value_dim, queries.count);
    if (p.want_dk) kernels.accumulate(dk, dp, q, keys.count, p.head_dim, queries.count);
  }

  // dK and dV of one key tile: all query heads of the group are summed here, in float.
  void key_tile(i64 batch, i64 head_kv, Span keys) {
    load_keys(batch, head_kv, keys);
    std::fill_n(dk, keys.count * p.head_dim, 0.0f);
    std::fill_n(dv, keys.count * p.value_dim, 0.0f);
    const i64 group = p.heads_q / p.heads_kv;
    const TileRange tiles = row_tiles(keys.first, keys.first + keys.count, p.seqlen_q, p.seqlen_k, p.window, tile_size);
    for (i64 head = head_kv * group; head < (head_kv + 1) * group; ++head)
      for (i64 tile = tiles.lo; tile < tiles.hi; ++tile) add_queries(batch, head, span_of(tile, p.seqlen_q), keys);
    if (p.want_dk) {
      std::fill_n(factor, keys.count, p.scale);
      kernels.store(address(pointers.dk, p.dk, batch, keys.first, head_kv), p.dk.dtype, p.dk.row, dk, factor, keys.count, p.head_dim);
    }
    if (p.want_dv) {
      std::fill_n(factor, keys.count, 1.0f);
      kernels.store(address(pointers.dv, p.dv, batch, keys.first, head_kv), p.dv.dtype, p.dv.row, dv, factor, keys.count, p.value_dim);
    }
  }

  // dQ of one query tile.
  void query_tile(i64 batch, i64 head, Span queries) {
    load_queries(batch, head, queries);
    std::fill_n(dq, queries.count * p.head_dim, 0.0f);
    const float* term = terms.data() + row_index(batch, head, queries);
    const TileRange tiles = key_tiles(queries.first, queries.first + queries.count, p.seqlen_q, p.seqlen_k, p.window, tile_size);
    for (i64 tile = tiles.lo; tile < tiles.hi; ++tile) {
      const Span keys = span_of(tile, p.seqlen_k);
      load_keys(batch, head / (p.heads_q / p.heads_kv), keys);
      kernels.scores(s, q, k, p.scale, queries.count, keys.count, p.head_dim);
      kernels.scores(dp, dout, v, 1, queries.count, keys.count, p.value_dim);
      queries_of_keys(visible, p, queries, keys);
      kernels.gradient_by_row(s, dp, visible, lse, term, queries.count, keys.count);
      kernels.accumulate(dq, dp, k, queries.count, p.head_dim, keys.count);
    }
    std::fill_n(factor, queries.count, p.scale);
    kernels.store(address(pointers.dq, p.dq, batch, queries.first, head), p.dq.dtype, p.dq.row, dq, factor, queries.count, p.head_dim);
  }

  // dLSE - delta of one query tile.
  void row_terms(float* term, i64 batch, i64 head, Span queries) {
    kernels.load(dout, address(pointers.dout, p.dout, batch, queries.first, head), p.dout.dtype, p.dout.row, queries.count, p.value_dim);
    kernels.load(out, address(pointers.out, p.out, batch, queries.first, head), p.out.dtype, p.out.row, queries.count, p.value_dim);
    kernels.negative_dots(term, dout, out, queries.count, p.value_dim);
    if (!p.has_dlse) return;
    const float* dlse = pointers.dlse + row_index(batch, head, queries);
    for (i64 i = 0; i < queries.count; ++i) term[i] += dlse[i];
  }
};

}  // namespace

void run_backward(const Problem& p, const Pointers& pointers, const Kernels& kernels) {
  const i64 heads_q = p.batch * p.heads_q, heads_kv = p.batch * p.heads_kv;
  const i64 query_tiles = ceil_div(p.seqlen_q, tile_size), key_tile_count = ceil_div(p.seqlen_k, tile_size);
  std::vector<Scratch> scratch(static_cast<size_t>(thread_count()));
  std::vector<float> terms(static_cast<size_t>(heads_q * p.seqlen_q));
  const auto tiles = [&](int slot) { return BackwardTiles(p, pointers, kernels, terms, scratch[size_t(slot)]); };

  if (p.want_dq || p.want_dk)
    parallel_for(heads_q * query_tiles, [&](i64 item, int slot) {
      const i64 batch = item / query_tiles / p.heads_q, head = item / query_tiles % p.heads_q;
      const Span queries = span_of(item % query_tiles, p.seqlen_q);
      BackwardTiles work = tiles(slot);
      work.row_terms(terms.data() + work.row_index(batch, head, queries), batch, head, queries);
    });
  // A head's tiles follow one another, as they share what they read. Under a causal mask its first keys and its last queries have most to do:
  // they come first.
  if (p.want_dk || p.want_dv)
    parallel_for(heads_kv * key_tile_count, [&](i64 item, int slot) {
      const i64 head = item / key_tile_count;
      tiles(slot).key_tile(head / p.heads_kv, head % p.heads_kv, span_of(item % key_tile_count, p.seqlen_k));
    });
  if (p.want_dq)
    parallel_for(heads_q * query_tiles, [&](i64 item, int slot) {
      const i64 head = item / query_tiles;
      tiles(slot).query_tile(head / p.heads_q, head % p.heads_q, span_of(query_tiles - 1 - item % query_tiles, p.seqlen_q));
    });
}

}  // namespace speedlight::cpu
