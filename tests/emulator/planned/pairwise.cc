#include "planned/pairwise.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace speedlight::emulator {
namespace {

// Pairs are numbered, so that those met are marks in a list.
class Pairs {
 public:
  explicit Pairs(const std::vector<Levels>& rows) {
    i32 levels = 0;
    for (const Levels& row : rows)
      for (const i32 level : row) levels = std::max(levels, level + 1);
    factors_ = rows.empty() ? 0 : i32(rows.front().size());
    levels_ = levels;
    open_.assign(std::size_t(factors_) * levels * factors_ * levels, false);
    for (const Levels& row : rows)
      visit(row, [&](std::size_t pair) {
        left_ += !open_[pair];
        open_[pair] = true;
      });
  }

  i64 left() const { return left_; }
  i64 gain(const Levels& row) const {
    i64 count = 0;
    visit(row, [&](std::size_t pair) { count += open_[pair]; });
    return count;
  }
  void meet(const Levels& row) {
    visit(row, [&](std::size_t pair) {
      left_ -= open_[pair];
      open_[pair] = false;
    });
  }

 private:
  template <class Visit>
  void visit(const Levels& row, Visit visit) const {
    for (i32 f = 0; f < factors_; ++f)
      for (i32 g = 0; g < f; ++g) visit(std::size_t((f * levels_ + row[f]) * factors_ + g) * levels_ + row[g]);
  }

  i32 factors_ = 0, levels_ = 0;
  i64 left_ = 0;
  std::vector<char> open_;
};

std::vector<std::size_t> attempt(const std::vector<Levels>& candidates, Pairs pairs, std::mt19937_64& random) {
  std::vector<std::size_t> order(candidates.size()), chosen;
  std::iota(order.begin(), order.end(), std::size_t(0));
  while (pairs.left() > 0) {
    std::shuffle(order.begin(), order.end(), random);
    const auto best = std::ranges::max_element(order, {}, [&](std::size_t candidate) { return pairs.gain(candidates[candidate]); });
    chosen.push_back(*best);
    pairs.meet(candidates[*best]);
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> pairwise(const std::vector<Levels>& candidates, u64 seed, i32 tries) {
  std::mt19937_64 random(seed);
  const Pairs pairs(candidates);
  std::vector<std::size_t> best;
  for (i32 i = 0; i < tries; ++i) {
    std::vector<std::size_t> chosen = attempt(candidates, pairs, random);
    if (i == 0 || chosen.size() < best.size()) best = std::move(chosen);
  }
  return best;
}

std::vector<Levels> product(const std::vector<i32>& level_counts) {
  std::vector<Levels> rows{{}};
  for (const i32 count : level_counts) {
    std::vector<Levels> longer;
    for (const Levels& row : rows)
      for (i32 level = 0; level < count; ++level) {
        longer.push_back(row);
        longer.back().push_back(level);
      }
    rows = std::move(longer);
  }
  return rows;
}

i64 pairs_met(const std::vector<Levels>& rows) { return Pairs(rows).left(); }

}  // namespace speedlight::emulator
