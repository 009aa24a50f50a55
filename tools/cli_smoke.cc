// speedlight smoke: the field's minimal reproduction, then one cell of the matrix.
#include <fmt/format.h>
#include "check_case.h"
#include "cli.h"
#include "parts.h"
#include "problem_options.h"

namespace speedlight::cli {
namespace {

CaseResult smallest(Machine& machine) {
  Case c;
  c.problem = dense_problem(DType::fp16, 1, 2, 2, 128, 128, 64, true);
  c.problem.has_dlse = true;
  c.loss = true;
  c.seed = 2026;
  return check_case(machine, c);
}

}  // namespace

Part smoke_part(Machine& machine) {
  Json json = {{"machine", machine.name()}, {"checks", Json::array()}};
  std::string text = fmt::format("{} {}\n", machine.name(), machine.card().name);
  bool pass = true;
  const auto report = [&](const std::string& what, const CaseResult& result) {
    pass &= result.pass;
    Json row = {{"what", what}, {"pass", result.pass}, {"fault", result.fault}, {"tensors", Json::array()}};
    for (const auto& t : result.tensors)
      row["tensors"].push_back({{"tensor", t.tensor}, {"pass", t.pass}, {"max_error", t.max_error}, {"bound", t.bound}});
    json["checks"].push_back(row);
    text += what + "\n" + result.text();
  };
  report("fp16 (1,128,2,64) causal, loss = mean(out^2) + 1e-3 mean(lse^2)", smallest(machine));
  Case cell;
  // On the CPU, one batch entry and two heads of the cell: the float64 reference of all 64 x 16 would take minutes.
  cell.problem = machine.cuda() ? dense_problem(DType::bf16, 64, 16, 16, 512, 512, 128, true)
                                : dense_problem(DType::bf16, 1, 2, 2, 512, 512, 128, true);
  cell.seed = 7;
  report(fmt::format("bf16 ({},512,{},128) causal", cell.problem.batch, cell.problem.heads_q), check_case(machine, cell));
  json["pass"] = pass;
  return {json, text + (pass ? "smoke passed" : "smoke FAILED"), pass};
}

Run add_smoke(CLI::App& app) {
  CLI::App* command = app.add_subcommand("smoke", "the smallest forward and backward, and one cell of the matrix, against float64");
  auto target = std::make_shared<Target>();
  add_target_options(*command, *target);
  return [target] {
    Machine machine(*target);
    const Part part = smoke_part(machine);
    print(*target, part.json, part.text);
    return part.pass ? 0 : 1;
  };
}

}  // namespace speedlight::cli
