// speedlight bench: the matrix of BF16 problems with 32K tokens and width 2048, grouped heads, long sequences, and the host's time a call.
#include <fmt/format.h>
#include <algorithm>
#include <fstream>
#include <optional>
#include "cli.h"
#include "parts.h"
#include "problem/error.h"
#include "problem_options.h"
#include "repeats.h"
#include "samples.h"
#include "store/tuned_file.h"
#include "tuner.h"

namespace speedlight::cli {
namespace {

bool changes_batch(const BenchOptions& o) { return o.repeats > 0 && o.determinism == Determinism::batch_invariant; }

class Bench {
 public:
  Bench(Machine& machine, const Target& target, std::span<const Cell> cells, const BenchOptions& options)
      : machine_(machine),
        target_(target),
        cells_(cells),
        options_(options),
        data_(machine, cells, changes_batch(options) ? 2 : 1),
        ceiling_(ceiling_tflops(machine)) {
    if (options.repeats > 0) repeater_.emplace(machine);
  }

  Part run() {
    say(fmt::format("{} card {}: mma.sync ceiling of this run {:.0f} TFLOP/s", machine_.name(), machine_.card().name, ceiling_));
    if (tuned_table())
      say(fmt::format("{} tuned rows of {} may replace built-in ones (SPEEDLIGHT_TUNED=off ignores them)", tuned_table()->rows.size(),
                      tuned_path()));
    for (const Cell& cell : cells_)
      for (const std::string& pass : options_.passes) add(cell, pass == "backward" ? Pass::backward : Pass::forward);
    for (Entry& entry : entries_) check(entry);
    time();
    for (const Entry& entry : entries_) report(entry);
    std::string text = fmt::format("{} figures, {} with wrong answers", rows_.size(), wrong_);
    if (repeater_) text += fmt::format("; {} repeats under load: {} of {} not the same bits", options_.repeats, unequal_, rows_.size());
    if (changes_batch(options_)) text += fmt::format("; a sequence in other batches: {} of {} not the same bits", moved_, compared_);
    return {{{"machine", machine_.name()},
             {"card", machine_.card().name},
             {"commit", build_commit()},
             {"ceiling_tflops", ceiling_},
             {"tokens", matrix_tokens},
             {"width", matrix_width},
             {"tuned_rows", tuned_table() ? tuned_table()->rows.size() : 0},
             {"determinism", name_of(options_.determinism)},
             {"rows", rows_}},
            text,
            wrong_ == 0 && unequal_ == 0 && moved_ == 0};
  }

 private:
  void say(const std::string& line) const {
    if (!target_.json) fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  // The planned launches, or one plan for each of the configs that fits the cell.
  std::vector<Plan> plans(const Problem& problem, Pass pass) const {
    const DeviceFacts& card = machine_.card();
    const Plan planned = machine_.plan(problem, pass);
    if (options_.configs.empty()) return {planned};
    std::vector<Plan> found;
    const KernelConfig& shape = main_config(planned);
    for (const KernelConfig& config : options_.configs) {
      const auto *f = std::get_if<ForwardConfig>(&config), *forward = std::get_if<ForwardConfig>(&shape);
      if (f && forward && f->spec == forward->spec) found.push_back(plan_forward(problem, card, &f->tuning));
      const auto *b = std::get_if<BackwardConfig>(&config), *backward = std::get_if<BackwardConfig>(&shape);
      if (b && backward && b->spec == backward->spec) found.push_back(plan_backward(problem, card, &b->tuning));
    }
    return found;
  }

  // A plan of a cell that is timed.
  struct Entry {
    Cell cell;  // with the determinism that is asked for
    Pass pass;
    Plan plan;
    double error = 0;
    int launches = 1;  // a block
    std::vector<double> times;
  };

  void add(const Cell& cell, Pass pass) {
    Cell asked = cell;
    asked.problem.determinism = options_.determinism;
    for (Plan& plan : plans(asked.problem, pass)) entries_.push_back({asked, pass, std::move(plan), 0, 1, {}});
  }

  Pointers pointers(const Entry& entry) {
    const i64 bytes = std::max(entry.plan.workspace.total, machine_.workspace_bytes(entry.cell.problem, Pass::forward));
    return data_.pointers(machine_.memory(bytes), bytes);
  }
  // What a backward starts from: the tensors are all cells' own.
  void run_forward(const Entry& entry, const Pointers& pointers) {
    if (entry.pass == Pass::backward) machine_.run(entry.cell.problem, Pass::forward, pointers);
  }
  void launch(const Entry& entry, const Pointers& pointers) { gpu::launch(entry.plan, pointers, target_.ordinal, nullptr); }

  void check(Entry& entry) {
    const Pointers at = pointers(entry);
    data_.poison();
    machine_.fill(at.workspace, 0xff, at.workspace_bytes);
    run_forward(entry, at);
    gpu::prepare(entry.plan, target_.ordinal);
    launch(entry, at);
    machine_.synchronize();
    entry.error = worst_of_entries(machine_, entry.cell.problem, at, entry.pass);
    entry.launches = launches_a_block(machine_, [&] { launch(entry, at); });
  }

  // Blocks of all entries take turns.
  void time() {
    Progress progress("bench", options_.blocks);
    for (int block = 0; block < options_.blocks; progress.step(++block))
      for (Entry& entry : entries_) {
        const Pointers at = pointers(entry);
        run_forward(entry, at);
        const auto enqueue = [&] { launch(entry, at); };
        machine_.time(enqueue, 2);
        entry.times.push_back(time_rested(machine_, enqueue, entry.launches));
      }
  }

  void report(const Entry& entry) {
    const Problem& problem = entry.cell.problem;
    const Timing t = summary(entry.times);
    const double tflops = cell_flops(problem, entry.pass) / t.median_ms * 1e-9;
    const bool right = entry.error <= sample_bound;
    wrong_ += !right;
    const std::string config = to_text(main_config(entry.plan));
    Json row = cell_json(entry.cell, entry.pass);
    row.update({{"config", config},
                {"ms", t.median_ms},
                {"tflops", tflops},
                {"spread", t.spread},
                {"share_of_ceiling", tflops / ceiling_},
                {"worst_relative_error", entry.error},
                {"correct", right}});
    say(fmt::format("{} {:<8} {:8.3f} ms {:6.0f} TFLOP/s  {:4.1f} % of ceiling  spread {:.1f} %  error {:.1e}{}  {}", cell_text(problem),
                    pass_name(entry.pass), t.median_ms, tflops, 100 * tflops / ceiling_, 100 * t.spread, entry.error, right ? "" : " WRONG",
                    config));
    if (repeater_) {
      const Pointers at = pointers(entry);
      run_forward(entry, at);
      repeat(
          problem, entry.pass, at, [&] { launch(entry, at); }, row);
      if (changes_batch(options_) && options_.configs.empty()) change_batch(problem, entry.pass, row);
    }
    rows_.push_back(row);
  }

  void repeat(const Problem& problem, Pass pass, const Pointers& pointers, const std::function<void()>& enqueue, Json& row) {
    const Repeats r = repeater_->repeat(problem, pass, pointers, enqueue, options_.repeats);
    unequal_ += r.different > 0;
    row["repeats"] = {{"repeats", r.count}, {"different", r.different}, {"alone_ms", r.alone_ms}, {"loaded_ms", r.loaded_ms}};
    say(fmt::format("  repeats: {}, different: {} (alone {:.3f} ms, under load {:.3f} ms)", r.count, r.different, r.alone_ms, r.loaded_ms));
  }

  void change_batch(const Problem& problem, Pass pass, Json& row) {
    i64 bytes = 0;
    for (Problem part = problem; const i64 batch : {problem.batch, i64(1), i64(2)})
      for (const Pass needed : {Pass::forward, pass}) part.batch = batch, bytes = std::max(bytes, machine_.workspace_bytes(part, needed));
    const BatchChange change =
        repeater_->change_batch(problem, pass, data_, machine_.memory(bytes), bytes,
                                [&](const Problem& p, Pass which, const Pointers& at) { machine_.run(p, which, at); });
    compared_ += change.compared, moved_ += int(change.faults.size());
    row["other_batches"] = {{"compared", change.compared}, {"different", change.faults}};
    say(fmt::format("  in other batches: {}, different: {} {}", change.compared, change.faults.size(), fmt::join(change.faults, ", ")));
  }

  Machine& machine_;
  const Target& target_;
  std::span<const Cell> cells_;
  const BenchOptions& options_;
  Data data_;
  double ceiling_;
  std::optional<Repeater> repeater_;
  std::vector<Entry> entries_;
  Json rows_ = Json::array();
  int wrong_ = 0, unequal_ = 0, compared_ = 0, moved_ = 0;
};

struct CommandOptions {
  bool matrix = false, gqa = false, longest = false, host = false;
  std::string configs;  // a file of config texts
  MatrixOptions cells;
  BenchOptions bench;
};

std::vector<KernelConfig> read_configs(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Status::invalid_argument, fmt::format("--configs {}: cannot be read", path));
  std::vector<KernelConfig> configs;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') configs.push_back(parse_config(line));
  if (configs.empty()) throw Error(Status::invalid_argument, fmt::format("--configs {}: has no config", path));
  return configs;
}

// Before a GPU is looked for.
void check(const BenchOptions& options) {
  if (options.repeats > 0 && options.determinism == Determinism::none && std::ranges::count(options.passes, "backward") > 0)
    throw Error(Status::invalid_argument,
                fmt::format("--repeats {}: backward adds in any order with --determinism none: must be run_to_run "
                            "or batch_invariant, or --passes forward",
                            options.repeats));
}

int bench(const Target& target, CommandOptions options) {
  check(options.bench);
  std::vector<Cell> cells;
  const auto add = [&](bool wanted, const std::vector<Cell>& more) {
    if (wanted) cells.insert(cells.end(), more.begin(), more.end());
  };
  add(options.matrix, matrix_cells(options.cells)), add(options.gqa, gqa_cells()), add(options.longest, long_cells());
  if (cells.empty() && !options.host)
    throw Error(Status::invalid_argument, "bench: give --matrix, --gqa, --long, --host or several of them");
  if (!options.configs.empty()) options.bench.configs = read_configs(options.configs);
  Target gpu = target;
  gpu.device = "cuda";
  Machine machine(gpu);
  Part part;
  if (!cells.empty()) part = bench_part(machine, gpu, cells, options.bench);
  if (options.host) {
    std::string text;
    part.json["host"] = host_times(machine, gpu, text);
    part.text += (part.text.empty() ? "" : "\n") + text;
  }
  print(target, part.json, part.text);
  return part.pass ? 0 : 1;
}

}  // namespace

Part bench_part(Machine& machine, const Target& target, std::span<const Cell> cells, const BenchOptions& options) {
  return Bench(machine, target, cells, options).run();
}

Run add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "time problems on a GPU");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<CommandOptions>();
  add_target_options(*command, *target);
  command->add_flag("--matrix", options->matrix, "BF16, 32K tokens, width 2048, forward and backward");
  command->add_flag("--gqa", options->gqa, "32 query heads over 8, S 8192, causal, D 128");
  command->add_flag("--long", options->longest, "S 32768 and 131072, 16 heads, causal, D 128");
  command->add_flag("--host", options->host, "host time a call, beside an empty kernel's launch");
  command->add_option("--configs", options->configs, "a file of config texts: time each that fits a cell instead of the planned one");
  add_determinism_option(*command, options->bench.determinism);
  command->add_option("--repeats", options->bench.repeats, "run each so often under load too: the same bits, or the command fails")
      ->check(CLI::Range(1, 100000));
  command->add_option("--passes", options->bench.passes)->delimiter(',')->check(CLI::IsMember({"forward", "backward"}));
  command->add_option("--head-dims", options->cells.head_dims, "of the matrix")->delimiter(',');
  command->add_option("--seqlens", options->cells.seqlens, "of the matrix")->delimiter(',');
  command->add_option("--causal", options->cells.causal, "of the matrix: 0, 1 or 0,1")->delimiter(',');
  command->add_option("--blocks", options->bench.blocks, "blocks of launches a figure is the median of")->check(CLI::Range(1, 100));
  return [=] { return bench(*target, *options); };
}

}  // namespace speedlight::cli
