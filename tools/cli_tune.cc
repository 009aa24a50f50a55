// speedlight tune: the fastest kernel of a problem, or of the matrix, on the GPU that is there, for the user's own table.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include "cli.h"
#include "platform/files.h"
#include "problem/error.h"
#include "problem_options.h"
#include "store/tuned_file.h"
#include "tuner.h"

namespace speedlight::cli {
namespace {

struct TuneOptions {
  bool matrix = false, prepare = false, export_rows = false, again = false, exhaustive = false;
  std::string code_target;
  std::vector<std::string> passes{"forward", "backward"};
  MatrixOptions cells;
  double budget = 15;
  unsigned threads = 0;
  Determinism determinism = Determinism::none;
  ProblemOptions problem;
};

volatile std::sig_atomic_t interrupted = 0;
void interrupt(int) { interrupted = 1; }
bool stop() { return interrupted != 0; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<TuneCell> cells_of(const TuneOptions& o, const DeviceFacts& card) {
  std::vector<TuneCell> made;
  for (Cell cell : o.matrix ? matrix_cells(o.cells) : std::vector<Cell>{{"problem", o.problem.problem()}}) {
    cell.problem.determinism = o.determinism;
    for (const std::string& pass : o.passes)
      made.push_back(
          tune_cell(cell, pass == "forward" ? Pass::forward : Pass::backward, card, o.exhaustive ? Reach::all : Reach::neighbours));
  }
  return made;
}

// "312 candidates of 24 problems and passes (340 looked at, 320 valid)"
std::string candidates_text(const std::vector<TuneCell>& cells) {
  size_t plans = 0;
  int considered = 0, valid = 0;
  for (const TuneCell& cell : cells) plans += cell.plans.size(), considered += cell.considered, valid += cell.valid;
  return fmt::format("{} candidates of {} problems and passes ({} looked at, {} valid)", plans, cells.size(), considered, valid);
}

// Compiles all of them into the cache folder, or until it is interrupted.
Json compile_all(const std::vector<Recipe>& recipes, unsigned threads, std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress("compile", i64(recipes.size()));
  int done = 0, compiled = 0, spilling = 0;
  std::vector<std::string> failures;
  find_parallel(recipes, threads, [&](CompileResult&& result) {
    progress.step(++done);
    if (stop()) throw Error(Status::invalid_argument, fmt::format("interrupted: {} of {} kernels compiled", done, recipes.size()));
    if (result.error) return failures.push_back(to_text(recipes[result.index]));
    compiled += result.code.origin != "bundle" && result.code.origin != "disk";
    spilling += result.code.spill_bytes > 64;
  });
  const double seconds = seconds_since(start);
  text = fmt::format("{} kernels, {} compiled in {:.1f} s, {} spill more than 64 bytes and will not be timed, {} failed", recipes.size(),
                     compiled, seconds, spilling, failures.size());
  for (const std::string& failure : failures) text += "\n  failed: " + failure;
  return {{"kernels", recipes.size()}, {"compiled", compiled}, {"seconds", seconds}, {"spilling", spilling}, {"failures", failures}};
}

// Without a GPU: `--card`, or the first known card of the target.
int prepare(const Target& target, const TuneOptions& o) {
  DeviceFacts card;
  const int device = o.code_target.empty() ? card_facts(target).target : parse_target(o.code_target);
  if (!target.card.empty())
    card = card_facts(target);
  else if (const auto found = std::ranges::find(known_cards(), device, &DeviceFacts::target); found != known_cards().end())
    card = *found;
  else
    throw Error(Status::unknown_device,
                fmt::format("--target {}: no card of it is known; give --card, or one of sm_80, sm_86, sm_90, sm_120", o.code_target));
  std::vector<int> targets{device};
  if (card.target != device) targets.push_back(card.target);  // the twin reads the registers of the card's code
  std::string text;
  const std::vector<TuneCell> cells = cells_of(o, card);
  Json json = compile_all(recipes_of(cells, targets), o.threads, text);
  json["card"] = card.name, json["target"] = device, json["candidates"] = candidates_text(cells);
  print(target, json, fmt::format("{} (code for sm_{}): {}: {}", card.name, device, candidates_text(cells), text));
  return json["failures"].empty() ? 0 : 1;
}

// Rows of the user's table in the syntax of src/plan/tables_*.cc.
std::string export_text(const UserTable& table) {
  std::string text;
  for (const TunedRow& row : table.rows) {
    const auto* f = std::get_if<ForwardConfig>(&row.config);
    const Spec spec = f ? f->spec : std::get<BackwardConfig>(row.config).spec;
    const i64 walk = longest_walk(row.shape.walk);
    text += fmt::format(
        "// {}, sm_{}: {}, own class {}, work class {}\n{{{}, MaskUse::{}, {},\n {},\n \"tuned on {} ({}, commit {}): {:.4g} ms\"}},\n",
        row.card, row.target, f ? "forward" : "backward", row.shape.own, row.shape.work, spec.head_dim,
        spec.mask == MaskKind::band ? "band" : "none", walk >= (i64(1) << 62) ? "any_length" : std::to_string(walk),
        tuning_source(row.config), row.machine, row.date, row.commit, row.ms);
  }
  return text.empty() ? "the user table has no rows" : text;
}

int export_rows(const Target& target) {
  const UserTable table = read_tuned(tuned_path());
  Json json = Json::array();
  for (const TunedRow& row : table.rows) json.push_back(to_text(row));
  print(target, {{"file", tuned_path()}, {"rows", json}}, export_text(table));
  return 0;
}

// The rows of cells that an interrupted run of this build had measured.
class Journal {
 public:
  Journal(std::string path, bool again) : path_(std::move(path)) {
    if (again) std::filesystem::remove(path_);
    for (const TunedRow& row : read_tuned(path_).rows)
      if (row.commit == build_commit()) rows_.push_back(row);
  }
  const TunedRow* find(const TunedRow& place) const {
    const auto found = std::ranges::find_if(rows_, [&](const TunedRow& row) { return same_place(row, place); });
    return found == rows_.end() ? nullptr : &*found;
  }
  void add(const TunedRow& row) { write_tuned(path_, {row}); }
  void finish() { std::filesystem::remove(path_); }

 private:
  std::string path_;
  std::vector<TunedRow> rows_;
};

// As a row of the user's table has it: with the determinism that was asked for, whatever the kernel adds.
KernelConfig as_asked(KernelConfig config, const Problem& problem) {
  if (auto* b = std::get_if<BackwardConfig>(&config); b && problem.determinism == Determinism::none)
    b->spec.determinism = Determinism::none;
  return config;
}

class TuneRun {
 public:
  TuneRun(Machine& machine, const Target& target, const TuneOptions& o)
      : machine_(machine),
        target_(target),
        o_(o),
        path_(tuned_path()),
        journal_(path_ + ".journal", o.again),
        tuner_(machine, target, o.budget) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<TuneCell> cells = cells_of(o_, machine_.card());
    const int device = gpu::device_facts(target_.ordinal).target;
    std::vector<int> targets{device};
    if (machine_.card().target != device) targets.push_back(machine_.card().target);
    std::string text;
    json_ = {{"machine", machine_.name()}, {"card", machine_.card().name}, {"commit", build_commit()}, {"date", date()}, {"file", path_}};
    json_["candidates"] = candidates_text(cells);
    json_["compile"] = compile_all(recipes_of(cells, targets), o_.threads, text);
    say(fmt::format("{} card {}: {}: {}", machine_.name(), machine_.card().name, candidates_text(cells), text));
    std::vector<Cell> problems;
    for (const TuneCell& cell : cells) problems.push_back(cell.cell);
    Data data(machine_, problems, o_.matrix ? 1 : sets_beyond_l2(machine_, problems.front().problem));
    const auto measuring = std::chrono::steady_clock::now();
    json_["cells"] = Json::array();
    {
      Progress progress("tune", i64(cells.size()));
      for (size_t i = 0; i < cells.size() && !stop(); ++i) one(cells[i], data), progress.step(i64(i) + 1);
    }
    json_["measuring_seconds"] = seconds_since(measuring), json_["seconds"] = seconds_since(start);
    json_["interrupted"] = stop();
    if (!stop()) journal_.finish();
    json_["wrong"] = wrong_;
    std::string closing =
        stop() ? fmt::format("interrupted: {} of {} measured and written; the same command goes on from there", done_, cells.size())
               : fmt::format("{} measured in {:.0f} s; {} rows beat the built-in table and are in {}", done_, seconds_since(measuring),
                             kept_, path_);
    if (wrong_ > 0) closing += fmt::format("; {} candidates gave WRONG answers and were not timed: please report it", wrong_);
    print(target_, json_, closing);
    return stop() ? 130 : failed_;
  }

 private:
  static std::string date() {
    return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  }
  void say(const std::string& line) const {
    if (!target_.json) fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void one(const TuneCell& cell, Data& data) {
    TunedRow row;
    row.config = as_asked(main_config(cell.plans.front()), cell.cell.problem), row.target = machine_.card().target,
    row.card = machine_.card().name;
    row.shape = problem_class(cell.cell.problem, cell.pass, machine_.card());
    row.machine = machine_.name(), row.date = date(), row.commit = build_commit();
    const std::string what = fmt::format("{} {:<8}", cell_text(cell.cell.problem), pass_name(cell.pass));
    if (const TunedRow* before = journal_.find(row)) {
      json_["cells"].push_back({{"resumed", to_text(*before)}});
      ++done_;
      return say(fmt::format("{} measured before the interruption: {}", what, to_text(before->config)));
    }
    const TuneResult result = tuner_.tune(cell, data, stop);
    if (stop()) return;
    json_["cells"].push_back(to_json(cell, result));
    ++done_;
    const std::string counts = counts_text(cell, result);
    wrong_ += result.count(Drop::wrong);
    if (result.picked < 0) {
      failed_ = 1;
      return say(fmt::format("{} NO candidate gave the right answer: {}", what, counts));
    }
    const auto& best = result.rows[size_t(result.picked)];
    const auto& planned = result.rows[size_t(result.planned)];
    row.config = as_asked(best.config, cell.cell.problem), row.ms = best.timing.median_ms;
    journal_.add(row);
    if (result.picked == result.planned)
      write_tuned(path_, {}, {row});
    else
      write_tuned(path_, {row}), ++kept_;
    const std::string than_planned = planned.drop == Drop::none ? fmt::format("planned {:.3f} ms ({:+.1f} %)", planned.timing.median_ms,
                                                                              100 * (planned.timing.median_ms / row.ms - 1))
                                                                : "the planned one was dropped: " + planned.dropped;
    say(fmt::format("{} best {:8.3f} ms ({:.0f} TFLOP/s, spread {:.1f} %), {}  {}\n  {}, {:.1f} s", what, row.ms,
                    cell_flops(cell.cell.problem, cell.pass) / row.ms * 1e-9, 100 * best.timing.spread, than_planned, to_text(best.config),
                    counts, result.seconds));
  }

  Machine& machine_;
  const Target& target_;
  const TuneOptions& o_;
  std::string path_;
  Journal journal_;
  Tuner tuner_;
  Json json_;
  int done_ = 0, kept_ = 0, wrong_ = 0, failed_ = 0;
};

int tune(const Target& target, const TuneOptions& o) {
  if (o.prepare) return prepare(target, o);
  if (o.export_rows) return export_rows(target);
  if (!o.code_target.empty())
    throw Error(Status::invalid_argument, "tune: --target goes with --prepare; without it the GPU's own target is compiled for");
  if (tuned_path().empty())
    throw Error(Status::invalid_argument,
                "tune: SPEEDLIGHT_TUNED=off (or no home folder) leaves no file to write rows to: set SPEEDLIGHT_TUNED to a path");
  Target gpu = target;
  gpu.device = "cuda";
  Machine machine(gpu);
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  return TuneRun(machine, gpu, o).run();
}

}  // namespace

Run add_tune(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "tune", "time the kernels that could serve a problem (or the matrix) here, and keep the fastest in the user's table");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<TuneOptions>();
  add_target_options(*command, *target);
  add_problem_options(*command, options->problem);
  command->add_flag("--matrix", options->matrix, "the matrix of bench instead of one problem");
  command->add_option("--passes", options->passes)->delimiter(',')->check(CLI::IsMember({"forward", "backward"}));
  command->add_option("--head-dims", options->cells.head_dims, "of the matrix")->delimiter(',');
  command->add_option("--seqlens", options->cells.seqlens, "of the matrix")->delimiter(',');
  command->add_option("--masks", options->cells.causal, "of the matrix: 0 (full), 1 (causal) or 0,1")->delimiter(',');
  add_determinism_option(*command, options->determinism);
  command->add_flag("--exhaustive", options->exhaustive,
                    "time every tuning that the card can run, not only the tables' rows and what is near them (prepare it first)");
  command->add_option("--budget", options->budget, "most seconds of timing for a problem and pass")->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "that compile (default: all)");
  command->add_flag("--again", options->again, "measure anew what an interrupted run had measured");
  command->add_flag("--prepare", options->prepare, "only compile, into the cache folder; needs no GPU");
  command->add_option("--target", options->code_target, "of --prepare: sm_80, sm_86, sm_90 or sm_120 (default: the GPU's)");
  command->add_flag("--export", options->export_rows, "only print the user's rows in the syntax of src/plan/tables_*.cc");
  return [=] { return tune(*target, *options); };
}

}  // namespace speedlight::cli
