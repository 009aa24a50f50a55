// speedlight explain: the plan for a problem and a card, on any machine.
#include <fmt/format.h>
#include "cli.h"
#include "problem/error.h"
#include "problem_options.h"
#include "store/store.h"
#include "store/tuned_file.h"

namespace speedlight::cli {
namespace {

// Registers of shipped code; 0 when the config is not shipped (it is then compiled at first use).
Json launch_json(const PlannedLaunch& launch, const DeviceFacts& card) {
  const auto code = find_shipped(launch.config, card.target);
  const int registers = code ? code->registers : 0;
  Json json = {{"config", to_text(launch.config)}, {"grid", launch.grid},   {"threads", launch.threads},
               {"shared_bytes", launch.shared},    {"shipped", bool(code)}, {"reason", launch.reason}};
  if (code) {
    json["registers"] = registers;
    json["spill_bytes"] = code->spill_bytes;
    json["blocks_per_sm"] = blocks_per_sm(card, launch.threads, registers, launch.shared);
  }
  return json;
}

Json plan_json(const Plan& plan) {
  Json json = {{"pass", plan.pass == Pass::forward ? "forward" : "backward"},
               {"card", plan.card.name},
               {"target", plan.card.target},
               {"launches", Json::array()},
               {"workspace_bytes", plan.workspace.total},
               {"flops", plan.flops},
               {"roofline_ms", plan.roofline_seconds * 1e3}};
  for (const PlannedLaunch& launch : plan.launches) json["launches"].push_back(launch_json(launch, plan.card));
  return json;
}

std::string resources_text(const Json& json) {
  std::string text;
  for (const Json& launch : json["launches"]) {
    if (!launch["shipped"]) {
      text += fmt::format("  {}: not shipped, compiled at first use\n", launch["config"].get<std::string>());
      continue;
    }
    text += fmt::format("  {}: {} registers, {} bytes spilled, {} blocks an SM\n", launch["config"].get<std::string>(),
                        launch["registers"].get<int>(), launch["spill_bytes"].get<int>(), launch["blocks_per_sm"].get<int>());
  }
  return text;
}

int explain_command(const Target& target, const ProblemOptions& options) {
  const DeviceFacts card = target.card.empty() && !use_cuda(target) ? *find_card("rtx5090") : card_facts(target);
  Json json = Json::array();
  std::string text;
  for (Pass pass : {Pass::forward, Pass::backward}) {
    const Plan plan = pass == Pass::forward ? plan_forward(options.problem(), card, nullptr, tuned_table())
                                            : plan_backward(options.problem(), card, nullptr, tuned_table());
    json.push_back(plan_json(plan));
    text += explain(plan) + resources_text(json.back()) + "\n";
  }
  print(target, json, text);
  return 0;
}

}  // namespace

Run add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "the plan for a problem and a card (default: the GPU here, else rtx5090)");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<ProblemOptions>();
  add_target_options(*command, *target);
  add_problem_options(*command, *options);
  return [=] { return explain_command(*target, *options); };
}

}  // namespace speedlight::cli
