#include "tuner.h"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <set>
#include "candidates.h"
#include "problem/error.h"
#include "samples.h"

namespace speedlight::cli {
namespace {

constexpr double block_ms = 15;       // a visit times so many milliseconds of launches
constexpr int most_spill_bytes = 64;  // a thread; a candidate with more is not timed

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Plan forced(const Problem& problem, const DeviceFacts& card, const ForwardTuning& tuning) { return plan_forward(problem, card, &tuning); }
Plan forced(const Problem& problem, const DeviceFacts& card, const BackwardTuning& tuning) { return plan_backward(problem, card, &tuning); }

template <class Config>
void add_plans(TuneCell& made, const Plan& planned, const DeviceFacts& card, const auto& candidates) {
  const auto& config = std::get<Config>(main_config(planned));
  for (const auto& tuning : candidates(config.spec, card, most_candidates))
    if (!(tuning == config.tuning) && made.plans.size() < most_candidates) made.plans.push_back(forced(made.cell.problem, card, tuning));
}

}  // namespace

const KernelConfig& main_config(const Plan& plan) {
  for (const PlannedLaunch& launch : plan.launches)
    if (launch.step == Step::forward || launch.step == Step::backward) return launch.config;
  throw Error(
      Status::invalid_argument,
      fmt::format("the {} of this problem has no main kernel to tune: every length and head count must be positive", pass_name(plan.pass)));
}

TuneCell tune_cell(const Cell& cell, Pass pass, const DeviceFacts& card) {
  TuneCell made{cell, pass, {}};
  const bool forward = pass == Pass::forward;
  const Plan planned = forward ? plan_forward(cell.problem, card) : plan_backward(cell.problem, card);
  made.plans.push_back(planned);
  if (forward)
    add_plans<ForwardConfig>(made, planned, card, forward_candidates);
  else
    add_plans<BackwardConfig>(made, planned, card, backward_candidates);
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

Json to_json(const TuneCell& cell, const TuneResult& result) {
  Json json = cell_json(cell.cell, cell.pass);
  const auto name = [&](int row) { return row < 0 ? std::string() : to_text(result.rows[size_t(row)].config); };
  json["planned"] = name(result.planned), json["picked"] = name(result.picked);
  if (result.picked >= 0) json["picked_ms"] = result.rows[size_t(result.picked)].timing.median_ms;
  json["planned_ms"] = result.rows[size_t(result.planned)].timing.median_ms;
  json["candidates"] = Json::array();
  for (const TuneResult::Row& row : result.rows) {
    Json entry = {{"config", to_text(row.config)}};
    if (!row.dropped.empty())
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

std::string Tuner::prune(const Plan& plan, bool planned) const {
  const int device = gpu::device_facts(target_.ordinal).target;
  const KernelConfig& config = main_config(plan);
  const auto code = find_code(config, device);
  if (!planned && code->spill_bytes > most_spill_bytes) return fmt::format("{} bytes spilled", code->spill_bytes);
  gpu::prepare(plan, target_.ordinal);
  return {};
}

TuneResult Tuner::tune(const TuneCell& cell, Data& data, const std::function<bool()>& stop) {
  const Problem& problem = cell.cell.problem;
  TuneResult result;
  i64 bytes = machine_.workspace_bytes(problem, Pass::forward);
  for (const Plan& plan : cell.plans) bytes = std::max(bytes, plan.workspace.total);
  void* workspace = machine_.memory(bytes);
  const Pointers first = data.pointers(workspace, bytes);
  machine_.run(problem, Pass::forward, first);
  const Samples samples(machine_, problem, first, problem.batch - 1, 0, 4, cell.pass);
  std::vector<Runner> runners;
  std::vector<int> row_of;
  for (const Plan& plan : cell.plans) {
    if (stop()) return result.picked = -1, result;
    TuneResult::Row& row = result.rows.emplace_back();
    row.config = main_config(plan);
    try {
      row.dropped = prune(plan, &plan == &cell.plans.front());
    } catch (const Error& error) {
      row.dropped = error.what();
    }
    if (!row.dropped.empty()) continue;
    Runner runner{&plan, {}, 0, 0};
    for (int set = 0; set < data.sets(); ++set) runner.sets.push_back(data.pointers(workspace, bytes, set));
    data.poison();
    machine_.fill(workspace, 0xff, bytes);
    if (cell.pass == Pass::backward)
      for (const Pointers& set : runner.sets) machine_.run(problem, Pass::forward, set);
    gpu::launch(plan, first, target_.ordinal, nullptr);
    machine_.synchronize();
    row.error = samples.worst(machine_, first);
    if (!(row.error <= sample_bound)) row.dropped = fmt::format("WRONG: relative error {:.2g}", row.error);
    if (!row.dropped.empty()) continue;
    row_of.push_back(int(result.rows.size()) - 1);
    runners.push_back(std::move(runner));
  }
  const auto time = [&](int index) {
    Runner& runner = runners[size_t(index)];
    const auto enqueue = [&] { gpu::launch(*runner.plan, runner.sets[runner.next++ % runner.sets.size()], target_.ordinal, nullptr); };
    if (runner.count == 0) {
      machine_.time(enqueue, 1);
      runner.count = std::clamp(int(block_ms / std::max(machine_.time(enqueue, 1), 1e-3)), 1, 500);
    }
    return machine_.time(enqueue, runner.count);
  };
  std::vector<Contender> contenders = halve(int(runners.size()), time, seconds_now, stop, {.budget_seconds = budget_});
  for (Contender& contender : contenders) {
    contender.index = row_of[size_t(contender.index)];
    TuneResult::Row& row = result.rows[size_t(contender.index)];
    row.timing = {contender.median(), contender.spread()}, row.rounds = int(contender.times.size()),
    row.final_round = contender.final_round;
  }
  result.picked = stop() ? -1 : pick(contenders, result.planned);
  return result;
}

}  // namespace speedlight::cli
