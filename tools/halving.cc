#include "halving.h"
#include <algorithm>

namespace speedlight::cli {
namespace {

bool faster(const Contender& a, const Contender& b) { return a.median() < b.median(); }

// One visit to each; false when the time is over, with some of them not visited.
bool round_of(std::vector<Contender>& alive, const std::function<double(int)>& time, const std::function<bool()>& over) {
  for (Contender& contender : alive) {
    if (over()) return false;
    contender.times.push_back(time(contender.index));
  }
  return true;
}

// Moves to `out` all but the best `keep`, and all that are hopeless, but leaves the finalists and the one that is kept.
void drop_slow(std::vector<Contender>& alive, std::vector<Contender>& out, size_t keep, const HalvingOptions& o) {
  std::stable_sort(alive.begin(), alive.end(), faster);
  keep = std::max(std::min(keep, alive.size()), size_t(o.finalists));
  while (keep > size_t(o.finalists) && keep <= alive.size() && alive[keep - 1].median() > o.hopeless * alive[0].median()) --keep;
  const auto kept = std::ranges::find(alive, o.keep, &Contender::index);
  if (kept != alive.end() && size_t(kept - alive.begin()) >= keep) {
    if (keep > size_t(o.finalists)) --keep;
    std::rotate(alive.begin() + std::ptrdiff_t(keep), kept, kept + 1);
    ++keep;
  }
  for (; alive.size() > keep; alive.pop_back()) out.push_back(std::move(alive.back()));
}

}  // namespace

std::vector<double> Contender::sorted() const {
  std::vector<double> counted(times.begin() + (times.size() > 1 ? 1 : 0), times.end());
  std::ranges::sort(counted);
  return counted;
}

double Contender::median() const {
  const std::vector<double> counted = sorted();
  return counted.empty() ? 0 : counted[counted.size() / 2];
}

double Contender::spread() const {
  const std::vector<double> counted = sorted();
  return counted.empty() ? 0 : (counted.back() - counted.front()) / median();
}

std::vector<Contender> halve(int count, const std::function<double(int)>& time, const std::function<double()>& clock,
                             const std::function<bool()>& stop, const HalvingOptions& options) {
  const double start = clock();
  const auto over = [&] { return stop() || clock() - start > options.budget_seconds; };
  std::vector<Contender> alive(size_t(std::max(count, 0))), out;
  for (int i = 0; i < count; ++i) alive[size_t(i)].index = i;
  bool going = round_of(alive, time, stop);
  const auto too_many = [&] {
    const auto kept = std::ranges::count(alive, options.keep, &Contender::index);
    return alive.size() > size_t(std::max(options.finalists, 1) + kept);
  };
  if (going && too_many()) drop_slow(alive, out, size_t(options.screened), options);
  while (going && too_many()) {
    for (int n = 0; n < options.rounds && going; ++n) going = round_of(alive, time, over);
    if (going) drop_slow(alive, out, (alive.size() + 1) / 2, options);
  }
  for (int n = 0; n < options.final_rounds && going; ++n) going = round_of(alive, time, over);
  std::erase_if(alive, [](const Contender& c) { return c.times.empty(); });  // stopped in the first round
  std::stable_sort(alive.begin(), alive.end(), faster);
  for (Contender& contender : alive) contender.final_round = true;
  std::stable_sort(out.begin(), out.end(), faster);
  alive.insert(alive.end(), std::make_move_iterator(out.begin()), std::make_move_iterator(out.end()));
  return alive;
}

}  // namespace speedlight::cli
