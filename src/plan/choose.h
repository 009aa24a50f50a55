// Which row of a table a problem gets.
#pragma once
#include <algorithm>
#include "plan/tables.h"
#include "problem/problem.h"
#include "problem/visible.h"

namespace speedlight::plan {

// What the choice looks at. A tile of the main kernel owns some `owned` positions of one of `heads` heads and walks past others: forward
// tiles own query rows and walk keys, backward tiles own keys and walk the query rows of all query heads of their group.
struct Work {
  int head_dim;
  bool banded;
  i64 heads, owned;
  i64 walk;              // how many positions a tile walks past on the average, as far as the mask lets it
  bool ordered = false;  // whether an order of the adds to dQ is asked for
};

constexpr i64 tile_of(const ForwardTuning& t) { return t.rows; }
constexpr i64 tile_of(const BackwardTuning& t) { return t.keys; }

// The first row that takes the work. Where its blocks would leave SMs idle, or a smaller tile still owns all positions of a head, the
// largest tile that does neither, else the smallest.
template <class T>
const Row<T>& choose_row(std::span<const Row<T>> rows, const Work& work, int sms) {
  const Row<T>* chosen =
      &*std::ranges::find_if(rows, [&](const Row<T>& row) { return row.takes(work.head_dim, work.banded, work.walk, work.ordered); });
  const auto next_smaller = [&]() -> const Row<T>* {
    const Row<T>* best = nullptr;
    for (const Row<T>& row : rows) {
      const bool applies = row.takes(work.head_dim, work.banded, 0, work.ordered) && tile_of(row.tuning) < tile_of(chosen->tuning);
      if (applies && (!best || tile_of(row.tuning) > tile_of(best->tuning))) best = &row;
    }
    return best;
  };
  while (const Row<T>* smaller_row = next_smaller()) {
    const bool idle = work.heads * ceil_div(work.owned, tile_of(chosen->tuning)) < sms;
    if (!idle && work.owned > tile_of(smaller_row->tuning)) break;
    chosen = smaller_row;
  }
  return *chosen;
}

}  // namespace speedlight::plan
