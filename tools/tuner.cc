#include "tuner.h"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <set>
#include "problem/error.h"
#include "samples.h"

namespace speedlight::cli {
namespace {

constexpr double block_ms = 15;       // a visit, after the first, times so many milliseconds of launches
constexpr int most_spill_bytes = 64;  // a thread; a candidate with more is not timed

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Plan forced(const Problem& problem, const DeviceFacts& card, const ForwardTuning& tuning) { return plan_forward(problem, card, &tuning); }
Plan forced(const Problem& problem, const DeviceFacts& card, const BackwardTuning& tuning) { return plan_backward(problem, card, &tuning); }

template <class Config>
void add_plans(TuneCell& made, const Plan& planned, const DeviceFacts& card, Reach reach, const auto& candidates) {
  const auto& config = std::get<Config>(main_config(planned));
  Spec spec = config.spec;
  if (made.cell.problem.determinism == Determinism::none) spec.determinism = Determinism::none;  // a table's row may add in order unasked
  const auto list = candidates(spec, card, reach);
  made.considered += list.considered, made.valid += int(list.valid.size());
  for (const auto& tuning : list.valid) {
    if (reach == Reach::neighbours && made.plans.size() >= most_neighbours) break;
    Plan plan = forced(made.cell.problem, card, tuning);
    if (main_config(plan) != main_config(planned)) made.plans.push_back(std::move(plan));
  }
}

}  // namespace

const KernelConfig& main_config(const Plan& plan) {
  for (const PlannedLaunch& launch : plan.launches)
    if (launch.step == Step::forward || launch.step == Step::backward) return launch.config;
  throw Error(
      Status::invalid_argument,
      fmt::format("the {} of this problem has no main kernel to tune: every length and head count must be positive", pass_name(plan.pass)));
}

TuneCell tune_cell(const Cell& cell, Pass pass, const DeviceFacts& card, Reach reach) {
  TuneCell made{cell, pass, {}, 0, 0};
  const bool forward = pass == Pass::forward;
  const Plan planned = forward ? plan_forward(cell.problem, card) : plan_backward(cell.problem, card);
  made.plans.push_back(planned);
  if (forward)
    add_plans<ForwardConfig>(made, planned, card, reach, forward_candidates);
  else
    add_plans<BackwardConfig>(made, planned, card, reach, backward_candidates);
  return made;
}

std::vector<Recipe> recipes_of(std::span<const TuneCell> cells, std::span<const int> targets) {
  std::set<std::string> seen;
  std::vector<Recipe> recipes;
  for (const int target : targets)
    for (const TuneCell& cell : cells)
      for (const Plan& plan : cell.plans)
        for (const PlannedLaunch& launch : plan.launches) {
          Recipe recipe{launch.config, target};
          if (runs_on(launch.config, target) && seen.insert(to_text(recipe)).second) recipes.push_back(std::move(recipe));
        }
  return recipes;
}

int TuneResult::count(Drop drop) const { return int(std::ranges::count(rows, drop, &Row::drop)); }

std::string counts_text(const TuneCell& cell, const TuneResult& r) {
  return fmt::format("{} looked at, {} valid, {} taken: {} spill, {} refused, {} wrong, {} timed", cell.considered, cell.valid,
                     cell.plans.size(), r.count(Drop::spills), r.count(Drop::refused), r.count(Drop::wrong), r.count(Drop::none));
}

Json to_json(const TuneCell& cell, const TuneResult& result) {
  Json json = cell_json(cell.cell, cell.pass);
  const auto name = [&](int row) { return row < 0 ? std::string() : to_text(result.rows[size_t(row)].config); };
  json["planned"] = name(result.planned), json["picked"] = name(result.picked);
  if (result.picked >= 0) json["picked_ms"] = result.rows[size_t(result.picked)].timing.median_ms;
  json["planned_ms"] = result.rows[size_t(result.planned)].timing.median_ms;
  json["seconds"] = result.seconds;
  json["counts"] = {{"considered", cell.considered},
                    {"valid", cell.valid},
                    {"taken", cell.plans.size()},
                    {"spill", result.count(Drop::spills)},
                    {"refused", result.count(Drop::refused)},
                    {"wrong", result.count(Drop::wrong)},
                    {"timed", result.count(Drop::none)}};
  json["candidates"] = Json::array();
  for (const TuneResult::Row& row : result.rows) {
    Json entry = {{"config", to_text(row.config)}};
    if (row.drop != Drop::none)
      entry["dropped"] = row.dropped;
    else
      entry.update({{"ms", row.timing.median_ms},
                    {"spread", row.timing.spread},
                    {"rounds", row.rounds},
                    {"final", row.final_round},
                    {"worst_relative_error", row.error}});
    json["candidates"].push_back(entry);
  }
  return json;
}

int pick(const std::vector<Contender>& contenders, int planned, double margin) {
  if (contenders.empty()) return -1;
  for (const Contender& c : contenders)
    if (c.index == planned && c.final_round && c.median() <= contenders.front().median() * (1 + margin)) return planned;
  return contenders.front().index;
}

// Launches one candidate, set by set, and knows how many launches make a block.
struct Tuner::Runner {
  const Plan* plan;
  std::vector<Pointers> sets;
  int count = 0;
  size_t next = 0;
};

// What all candidates of a problem and pass share.
struct Tuner::Work {
  const TuneCell& cell;
  Data& data;
  std::vector<Pointers> sets;
  const Samples& samples;
};

void Tuner::check(const Work& work, const Plan& plan, TuneResult::Row& row) {
  const auto drop = [&](Drop why, std::string text) { row.drop = why, row.dropped = std::move(text); };
  const Problem& problem = work.cell.cell.problem;
  try {
    const auto code = find_code(row.config, gpu::device_facts(target_.ordinal).target);
    const bool planned = &plan == &work.cell.plans.front();
    if (!planned && code->spill_bytes > most_spill_bytes) return drop(Drop::spills, fmt::format("{} bytes spilled", code->spill_bytes));
    gpu::prepare(plan, target_.ordinal);
    work.data.poison();
    machine_.fill(work.sets[0].workspace, 0xff, work.sets[0].workspace_bytes);
    if (work.cell.pass == Pass::backward)
      for (const Pointers& set : work.sets) machine_.run(problem, Pass::forward, set);
    gpu::launch(plan, work.sets[0], target_.ordinal, nullptr);
    machine_.synchronize();
  } catch (const Error& error) {
    drop(Drop::refused, error.what());
  }
  if (row.drop == Drop::refused) {
    try {
      machine_.synchronize();
    } catch (const Error& error) {
      throw Error(error.status(), fmt::format("{}: {}", to_text(row.config), row.dropped));
    }
    return;
  }
  row.error = work.samples.worst(machine_, work.sets[0]);
  if (!(row.error <= sample_bound)) drop(Drop::wrong, fmt::format("WRONG: relative error {:.2g}", row.error));
}

double Tuner::time(Runner& runner) {
  const auto enqueue = [&] { gpu::launch(*runner.plan, runner.sets[runner.next++ % runner.sets.size()], target_.ordinal, nullptr); };
  if (runner.count == 0) {  // the first visit screens: three launches
    machine_.time(enqueue, 1);
    const double ms = machine_.time(enqueue, 3);
    runner.count = std::clamp(int(block_ms / std::max(ms, 1e-3)), 1, 500);
    return ms;
  }
  return time_rested(machine_, enqueue, runner.count);
}

TuneResult Tuner::tune(const TuneCell& cell, Data& data, const std::function<bool()>& stop) {
  const double start = seconds_now();
  const Problem& problem = cell.cell.problem;
  TuneResult result;
  i64 bytes = machine_.workspace_bytes(problem, Pass::forward);
  for (const Plan& plan : cell.plans) bytes = std::max(bytes, plan.workspace.total);
  void* workspace = machine_.memory(bytes);
  std::vector<Pointers> sets;
  for (int set = 0; set < data.sets(); ++set) sets.push_back(data.pointers(workspace, bytes, set));
  machine_.run(problem, Pass::forward, sets[0]);
  const Samples samples(machine_, problem, sets[0], problem.batch - 1, 0, 4, cell.pass);
  const Work work{cell, data, sets, samples};
  std::vector<Runner> runners;
  std::vector<int> row_of;
  for (const Plan& plan : cell.plans) {
    if (stop()) return result;
    TuneResult::Row& row = result.rows.emplace_back();
    row.config = main_config(plan);
    check(work, plan, row);
    if (row.drop != Drop::none) continue;
    row_of.push_back(int(result.rows.size()) - 1);
    runners.push_back({&plan, sets, 0, 0});
  }
  std::vector<Contender> contenders = halve(int(runners.size()), [&](int index) { return time(runners[size_t(index)]); }, seconds_now, stop,
                                            {.budget_seconds = budget_, .keep = row_of.empty() || row_of[0] != result.planned ? -1 : 0});
  for (Contender& contender : contenders) {
    contender.index = row_of[size_t(contender.index)];
    TuneResult::Row& row = result.rows[size_t(contender.index)];
    row.timing = {contender.median(), contender.spread()}, row.rounds = int(contender.times.size()),
    row.final_round = contender.final_round;
  }
  result.picked = stop() ? -1 : pick(contenders, result.planned);
  result.seconds = seconds_now() - start;
  return result;
}

}  // namespace speedlight::cli
