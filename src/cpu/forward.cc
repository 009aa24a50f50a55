#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/geometry.h"
#include "cpu/passes.h"
#include "cpu/scratch.h"
#include "cpu/thread_pool.h"

namespace speedlight::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// One tile of queries of one head, over all key tiles of its band.
struct ForwardTile {
  const Problem& p;
  const Pointers& pointers;
  const Kernels& kernels;
  i64 batch, head;
  Span queries;
  Rows* visible;
  float *q, *k, *v, *s, *output, *maximum, *sum, *row_scratch;

  ForwardTile(const Problem& p, const Pointers& pointers, const Kernels& kernels, Scratch& scratch, i64 batch, i64 head, Span queries)
      : p(p), pointers(pointers), kernels(kernels), batch(batch), head(head), queries(queries) {
    const i64 keys = smaller(tile_size, p.seqlen_k), rows = queries.count;
    const i64 sizes[] = {rows * p.head_dim, keys * p.head_dim, keys * p.value_dim, rows * keys, rows * p.value_dim, rows, rows, 2 * rows};
    i64 total = 0;
    for (const i64 size : sizes) total += Scratch::padded(size);
    scratch.reset(total, keys);
    visible = scratch.ranges();
    float** const parts[] = {&q, &k, &v, &s, &output, &maximum, &sum, &row_scratch};
    for (int i = 0; i < 8; ++i) *parts[i] = scratch.take(sizes[i]);
  }

  void run() {
    const i64 rows = queries.count;
    kernels.load(q, address(pointers.q, p.q, batch, queries.first, head), p.q.dtype, p.q.row, rows, p.head_dim);
    std::fill_n(output, rows * p.value_dim, 0.0f);
    std::fill_n(maximum, rows, -infinity);
    std::fill_n(sum, rows, 0.0f);
    const TileRange tiles = key_tiles(queries.first, queries.first + rows, p.seqlen_q, p.seqlen_k, p.window, tile_size);
    for (i64 tile = tiles.lo; tile < tiles.hi; ++tile) add_keys(span_of(tile, p.seqlen_k));
    finish();
  }

  void add_keys(Span keys) {
    const i64 head_kv = head / (p.heads_q / p.heads_kv);
    kernels.load(k, address(pointers.k, p.k, batch, keys.first, head_kv), p.k.dtype, p.k.row, keys.count, p.head_dim);
    kernels.load(v, address(pointers.v, p.v, batch, keys.first, head_kv), p.v.dtype, p.v.row, keys.count, p.value_dim);
    kernels.scores(s, q, k, p.scale, queries.count, keys.count, p.head_dim);
    queries_of_keys(visible, p, queries, keys);
    kernels.softmax(s, visible, maximum, sum, output, row_scratch, queries.count, keys.count, p.value_dim);
    kernels.accumulate(output, s, v, queries.count, p.value_dim, keys.count);
  }

  // A row that saw no key still has its maximum at -inf: output 0, LSE -inf. (So has a row of NaN scores, which is to stay NaN.)
  void finish() {
    float* lse = pointers.lse + ((batch * p.heads_q + head) * p.seqlen_q + queries.first);
    float* factor = row_scratch;
    for (i64 i = 0; i < queries.count; ++i) {
      const bool dead = maximum[i] == -infinity && !std::isnan(sum[i]);
      factor[i] = dead ? 0.0f : 1.0f / sum[i];
      if (p.want_lse) lse[i] = dead ? -infinity : maximum[i] + std::log(sum[i]);
    }
    kernels.store(address(pointers.out, p.out, batch, queries.first, head), p.out.dtype, p.out.row, output, factor, queries.count,
                  p.value_dim);
  }
};

}  // namespace

void run_forward(const Problem& p, const Pointers& pointers, const Kernels& kernels) {
  const i64 tiles = ceil_div(p.seqlen_q, tile_size);
  std::vector<Scratch> scratch(static_cast<size_t>(thread_count()));
  parallel_for(p.batch * p.heads_q * tiles, [&](i64 item, int slot) {
    // A head's tiles follow one another, as they share keys. The last queries see most under a causal mask: they come first, so that no long
    // tile is left for the end.
    const i64 tile = tiles - 1 - item % tiles, head = item / tiles;
    ForwardTile(p, pointers, kernels, scratch[size_t(slot)], head / p.heads_q, head % p.heads_q, span_of(tile, p.seqlen_q)).run();
  });
}

}  // namespace speedlight::cpu
