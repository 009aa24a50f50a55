// speedlight model: the time of each kernel on a card, from its machine code. No GPU; docs/model.md says how and how well.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include "cli.h"
#include "model/predict.h"
#include "plan/tables.h"
#include "problem/error.h"
#include "problem_options.h"

namespace speedlight::cli {
namespace {

struct ModelOptions {
  std::string card, config, measured, check;
  bool rows = false, shares = false, json = false;
};

struct MatrixCell {
  i64 head_dim, seqlen;
  bool causal;
  Pass pass;
};
std::vector<MatrixCell> matrix() {
  std::vector<MatrixCell> cells;
  for (Pass pass : {Pass::forward, Pass::backward})
    for (i64 head_dim : {64, 128})
      for (i64 seqlen : {512, 2048, 8192})
        for (bool causal : {false, true}) cells.push_back({head_dim, seqlen, causal, pass});
  return cells;
}
Problem problem_of(const MatrixCell& c) {  // 32K tokens, width 2048
  const i64 heads = 2048 / c.head_dim;
  return dense_problem(DType::bf16, 32768 / c.seqlen, heads, heads, c.seqlen, c.seqlen, c.head_dim, c.causal);
}
std::string name_of(const MatrixCell& c) {
  return fmt::format("{:<8} D{:<3} S{:<4} {:<6}", c.pass == Pass::forward ? "forward" : "backward", c.head_dim, c.seqlen,
                     c.causal ? "causal" : "full");
}

Plan plan_cell(const MatrixCell& c, const DeviceFacts& card, const KernelConfig* force = nullptr) {
  if (c.pass == Pass::forward) return plan_forward(problem_of(c), card, force ? &std::get<ForwardConfig>(*force).tuning : nullptr);
  return plan_backward(problem_of(c), card, force ? &std::get<BackwardConfig>(*force).tuning : nullptr);
}
const KernelConfig& main_kernel(const Plan& plan) {
  return std::ranges::find_if(plan.launches, [](const PlannedLaunch& l) { return l.step == Step::forward || l.step == Step::backward; })
      ->config;
}

// Each kernel is disassembled once.
const model::KernelCode& code_of(const KernelConfig& config, int target) {
  static std::map<std::pair<std::string, int>, model::KernelCode> known;
  const std::pair key{to_text(config), target};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known.emplace(key, model::analyse(config, target)).first->second;
}
model::Prediction predict_cell(const MatrixCell& c, const DeviceFacts& card, const KernelConfig* force = nullptr) {
  const Plan plan = plan_cell(c, card, force);
  return model::predict(plan, code_of(main_kernel(plan), card.target));
}

Json counts_json(const model::Counts& counts) {
  Json json;
  each_count(counts, [&](const char* name, int value) { json[name] = value; });
  return json;
}
Json code_json(const model::KernelCode& code) {
  Json json = {{"config", to_text(code.config)},
               {"target", code.target},
               {"registers", code.registers},
               {"spill_bytes", code.spill_bytes},
               {"once", counts_json(code.once)}};
  for (const model::TileCounts& role : code.roles)
    json["roles"].push_back({{"whole", counts_json(role.whole)}, {"masked", counts_json(role.masked)}});
  return json;
}
Json prediction_json(const MatrixCell& c, const DeviceFacts& card, const std::string& config, const model::Prediction& p) {
  return {{"modelled", true},
          {"card", card.name},
          {"pass", c.pass == Pass::forward ? "forward" : "backward"},
          {"head_dim", c.head_dim},
          {"seqlen", c.seqlen},
          {"causal", c.causal},
          {"config", config},
          {"ms", p.ms},
          {"tflops", p.tflops},
          {"inner_share", p.inner_share},
          {"whole_share", p.whole_share},
          {"hidden_ms", p.hidden_ms},
          {"helper_ms", p.helper_ms},
          {"diagonal_share", p.diagonal},
          {"waves", p.waves},
          {"blocks_per_sm", p.blocks_per_sm},
          {"warps_per_scheduler", p.warps},
          {"dram_bytes", p.dram_bytes},
          {"l2_bytes", p.l2_bytes},
          {"bound", p.bound},
          {"unit_cycles",
           {{"tensor", p.units.tensor},
            {"issue", p.units.issue},
            {"shared", p.units.shared},
            {"mufu", p.units.mufu},
            {"fp32", p.units.fp32},
            {"integer", p.units.integer}}}};
}
constexpr const char* columns = "modelled                          ms  TFLOP/s  inner  whole  bound    at best ms  waves  waste  config";
std::string prediction_line(const MatrixCell& c, const std::string& config, const model::Prediction& p) {
  return fmt::format("{} {:>9.3f} {:>8.1f} {:>4.1f} % {:>4.1f} %  {:<7} {:>11.3f} {:>6.1f} {:>4.1f} %  {}", name_of(c), p.ms, p.tflops,
                     100 * p.inner_share, 100 * p.whole_share, p.bound, p.hidden_ms, p.waves, 100 * p.diagonal, config);
}

// The one asked for, else those of `otherwise`.
std::vector<DeviceFacts> cards_of(const ModelOptions& o, const std::vector<std::string>& otherwise = {"rtx5090", "rtxpro6000"}) {
  std::vector<DeviceFacts> cards;
  for (const std::string& name : o.card.empty() ? otherwise : std::vector<std::string>{o.card}) {
    Target target;
    target.card = name;
    cards.push_back(card_facts(target));
    if (cards.back().target != 90 && cards.back().target != 120)
      throw Error(Status::unsupported,
                  fmt::format("--card {}: the model was made for sm_90 and sm_120, not sm_{}", name, cards.back().target));
  }
  return cards;
}

int model_matrix(const ModelOptions& o) {
  Json json = Json::array();
  for (const DeviceFacts& card : cards_of(o)) {
    if (!o.json) fmt::print("{}, planned rows\n{}\n", card.name, columns);
    for (const MatrixCell& c : matrix()) {
      const std::string config = to_text(main_kernel(plan_cell(c, card)));
      const model::Prediction p = predict_cell(c, card);
      json.push_back(prediction_json(c, card, config, p));
      if (!o.json) fmt::print("{}\n", prediction_line(c, config, p));
    }
  }
  if (o.json) fmt::print("{}\n", json.dump(2));
  return 0;
}

// The configs of the table's rows that a cell could have been given.
std::vector<KernelConfig> row_configs(const MatrixCell& c, const DeviceFacts& card) {
  std::vector<KernelConfig> configs;
  const Spec spec{
      .dtype = DType::bf16, .head_dim = u16(c.head_dim), .value_dim = u16(c.head_dim), .mask = c.causal ? MaskKind::band : MaskKind::none};
  if (c.pass == Pass::forward)
    for (const ForwardTuning& t : forward_tunings(card.target, int(c.head_dim), c.causal)) configs.push_back(ForwardConfig{spec, t});
  else
    for (const BackwardTuning& t : backward_tunings(card.target, int(c.head_dim), c.causal))
      configs.push_back(plan::backward_config(spec, t, false));
  return configs;
}

int model_rows(const ModelOptions& o) {
  Json json = Json::array();
  for (const DeviceFacts& card : cards_of(o)) {
    if (!o.json) fmt::print("{}, every row of the table; * is the planned one\n{}\n", card.name, columns);
    for (const MatrixCell& c : matrix()) {
      const std::string planned = to_text(main_kernel(plan_cell(c, card)));
      double best = 1e30, chosen = 0;
      for (const KernelConfig& config : row_configs(c, card)) {
        const model::Prediction p = predict_cell(c, card, &config);
        const std::string text = to_text(config);
        best = std::min(best, p.ms);
        if (text == planned) chosen = p.ms;
        json.push_back(prediction_json(c, card, text, p));
        json.back()["planned"] = text == planned;
        if (!o.json) fmt::print("{}{}\n", prediction_line(c, text, p), text == planned ? " *" : "");
      }
      if (!o.json) fmt::print("  planned row: {:+.1f} % over the best\n", 100 * (chosen / best - 1));
    }
  }
  if (o.json) fmt::print("{}\n", json.dump(2));
  return 0;
}

int model_config(const ModelOptions& o) {
  Json json = Json::array();
  const KernelConfig config = parse_config(o.config);
  for (const DeviceFacts& card : cards_of(o)) json.push_back(code_json(code_of(config, card.target)));
  fmt::print("{}\n", json.dump(2));
  return 0;
}

// Lines "head_dim seqlen full|causal forward|backward milliseconds config"; # begins a comment.
int model_measured(const ModelOptions& o) {
  const DeviceFacts card = cards_of(o, {"h200"})[0];
  std::ifstream file(o.measured);
  if (!file) throw Error(Status::invalid_argument, fmt::format("--measured {}: cannot be read", o.measured));
  Json json = Json::array();
  int rows = 0, near = 0, planned_rows = 0, planned_near = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    MatrixCell c{};
    std::string mask, pass, text;
    double ms = 0;
    if (!(words >> c.head_dim >> c.seqlen >> mask >> pass >> ms >> text))
      throw Error(Status::invalid_argument, fmt::format("--measured {}: not understood: {}", o.measured, line));
    c.causal = mask == "causal", c.pass = pass == "forward" ? Pass::forward : Pass::backward;
    const KernelConfig config = parse_config(text);
    const model::Prediction p = predict_cell(c, card, &config);
    const double error = p.ms / ms - 1;
    const bool planned = to_text(main_kernel(plan_cell(c, card))) == text;
    ++rows, near += std::abs(error) <= 0.1, planned_rows += planned, planned_near += planned && std::abs(error) <= 0.1;
    json.push_back(prediction_json(c, card, text, p));
    json.back()["measured_ms"] = ms, json.back()["planned"] = planned;
    if (!o.json)
      fmt::print("{} measured {:>7.3f} ms, modelled {:>7.3f} ms, {:+5.1f} %{} {}\n", name_of(c), ms, p.ms, 100 * error,
                 planned ? " *" : "  ", text);
  }
  if (o.json)
    fmt::print("{}\n", json.dump(2));
  else
    fmt::print("within 10 %: {} of {} rows; {} of {} planned ones (*)\n", near, rows, planned_near, planned_rows);
  return 0;
}

// "card pass D S mask" to the shares of the tensor peak in the inner loop and of the whole pass, of the planned rows.
std::map<std::string, std::pair<double, double>> shares_of(const ModelOptions& o) {
  std::map<std::string, std::pair<double, double>> shares;
  for (const DeviceFacts& card : cards_of(o))
    for (const MatrixCell& c : matrix()) {
      const model::Prediction p = predict_cell(c, card);
      shares[fmt::format("{} {}", card.name, name_of(c))] = {p.inner_share, p.whole_share};
    }
  return shares;
}

int model_shares(const ModelOptions& o) {
  for (const auto& [cell, share] : shares_of(o)) fmt::print("{} {:.4f} {:.4f}\n", cell, share.first, share.second);
  return 0;
}

// Against a file that --shares wrote: 1 where a share is off by more than 1 % of itself.
int model_check(const ModelOptions& o) {
  std::ifstream file(o.check);
  if (!file) throw Error(Status::invalid_argument, fmt::format("--check {}: cannot be read", o.check));
  const auto shares = shares_of(o);
  size_t known = 0;
  bool same = true;
  for (std::string line; std::getline(file, line);) {
    const auto found = std::ranges::find_if(shares, [&](const auto& share) { return line.starts_with(share.first + " "); });
    if (found == shares.end()) continue;
    ++known;
    std::istringstream numbers(line.substr(found->first.size()));
    double inner = 0, whole = 0;
    numbers >> inner >> whole;
    const auto [inner_now, whole_now] = found->second;
    if (std::abs(inner_now - inner) <= 0.01 * inner && std::abs(whole_now - whole) <= 0.01 * whole) continue;
    same = false;
    fmt::print("{}: inner {:.4f}, was {:.4f}; whole {:.4f}, was {:.4f}\n", found->first, inner_now, inner, whole_now, whole);
  }
  if (known != shares.size()) same = false, fmt::print("{} of {} cells are in {}\n", known, shares.size(), o.check);
  fmt::print("{}\n", same ? "modelled shares as before"
                          : "modelled shares changed; where that was meant, write them anew with `speedlight model --shares`");
  return same ? 0 : 1;
}

int model_command(const ModelOptions& o) {
  if (o.rows + o.shares + !o.check.empty() + !o.config.empty() + !o.measured.empty() > 1)
    throw Error(Status::invalid_argument, "model: give at most one of --rows, --shares, --check, --config, --measured");
  if (o.json && (o.shares || !o.check.empty())) throw Error(Status::invalid_argument, "model: --shares and --check print text only");
  if (o.rows) return model_rows(o);
  if (o.shares) return model_shares(o);
  if (!o.check.empty()) return model_check(o);
  if (!o.config.empty()) return model_config(o);
  return o.measured.empty() ? model_matrix(o) : model_measured(o);
}

}  // namespace

Run add_model(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("model", "modelled times of the 24-cell matrix, from the kernels' machine code (default: rtx5090 and rtxpro6000)");
  auto options = std::make_shared<ModelOptions>();
  command->add_option("--card", options->card, "one card instead: rtx5090, rtxpro6000, gb10, h200, h100");
  command->add_flag("--rows", options->rows, "every row of the tuned table for each cell");
  command->add_option("--config", options->config, "only what one kernel's loops hold, as JSON");
  command->add_option(
      "--measured", options->measured,
      "compare with measured times: a file of 'head_dim seqlen full|causal forward|backward ms config' (default card: h200)");
  command->add_flag("--shares", options->shares, "only the shares of the tensor peak, as tests/model/shares.txt holds them");
  command->add_option("--check", options->check, "compare with such a file; exit status 1 where a share differs by more than 1 %");
  command->add_flag("--json", options->json, "print JSON");
  return [=] { return model_command(*options); };
}

}  // namespace speedlight::cli
