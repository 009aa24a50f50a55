// Where tiles lie: addresses of blocks, and which part of each tile column is inside the mask band.
#pragma once
#include "cpu/kernels.h"
#include "problem/problem.h"

namespace speedlight::cpu {

constexpr i64 tile_size =
    128;  // queries, and keys, of a tile: products of this size run at Eigen's full rate, and two fit into an L2 cache

// One tile's extent along a sequence.
struct Span {
  i64 first, count;
};
constexpr Span span_of(i64 tile, i64 seqlen) { return {tile * tile_size, smaller(tile_size, seqlen - tile * tile_size)}; }

// Address of element (batch, row, head, 0).
inline const void* address(const void* data, const TensorLayout& t, i64 batch, i64 row, i64 head) {
  return static_cast<const char*>(data) + (batch * t.batch + row * t.row + head * t.head) * size_of(t.dtype);
}
inline void* address(void* data, const TensorLayout& t, i64 batch, i64 row, i64 head) {
  return static_cast<char*>(data) + (batch * t.batch + row * t.row + head * t.head) * size_of(t.dtype);
}

// The part of `seen` that lies in `span`, counted from its start; {0, 0} if none does.
constexpr Rows clip(Band seen, Span span) {
  const i64 begin = larger<i64>(seen.lo - span.first, 0), end = smaller(seen.hi - span.first, span.count);
  return begin < end ? Rows{begin, end} : Rows{0, 0};
}

// A tile whose rows are queries: for each key, the queries that see it.
inline void queries_of_keys(Rows* visible, const Problem& p, Span queries, Span keys) {
  for (i64 j = 0; j < keys.count; ++j) visible[j] = clip(rows_that_see(keys.first + j, p.seqlen_q, p.seqlen_k, p.window), queries);
}

// A tile whose rows are keys: for each query, the keys it sees.
inline void keys_of_queries(Rows* visible, const Problem& p, Span queries, Span keys) {
  for (i64 j = 0; j < queries.count; ++j) visible[j] = clip(band(queries.first + j, p.seqlen_q, p.seqlen_k, p.window), keys);
}

}  // namespace speedlight::cpu
