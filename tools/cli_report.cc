// speedlight report: for the owner of any card, one command: is it right here, is it fast here; one JSON file and a short text for an issue.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include "cli.h"
#include "parts.h"
#include "problem/error.h"
#include "store/tuned_file.h"

namespace speedlight::cli {
namespace {

struct ReportOptions {
  std::string folder = ".";
  i64 cases = 300;
  bool quick = false;
};

// Forward and deterministic backward: the same bits each time, and whatever else is in the batch. batch_invariant has the matrix's cells run
// what run_to_run has them run.
Part repeat_part(Machine& machine, const Target& target, const MatrixOptions& matrix) {
  Part part = bench_part(machine, target, matrix_cells(matrix), {.blocks = 1, .determinism = Determinism::batch_invariant, .repeats = 20});
  part.text = "forward and deterministic backward, " + part.text;
  for (const Json& row : part.json["rows"]) {
    const Json &different = row["repeats"]["different"], &moved = row["other_batches"]["different"];
    if (different != 0 || !moved.empty() || !row["correct"].get<bool>())
      part.text += fmt::format("\n  {}: {} repeats differ; in other batches: {}{}", row["config"].get<std::string>(), different.get<int>(),
                               moved.dump(), row["correct"].get<bool>() ? "" : "; WRONG");
  }
  return part;
}

Part ceilings_part(Machine& machine) {
  const DeviceFacts device = gpu::device_facts(gpu::current_device());
  const double mma = ceiling_tflops(machine), copy = copy_tbs(machine);
  return {{{"mma_tflops", mma}, {"mma_tflops_known", device.mma_tflops}, {"copy_tbs", copy}, {"memory_tbs_known", device.memory_tbs}},
          fmt::format("mma.sync bf16 {:.0f} TFLOP/s (known or modelled: {:.0f}), copy {:.2f} TB/s (known: {:.2f})", mma, device.mma_tflops,
                      copy, device.memory_tbs),
          true};
}

// What `speedlight tune` found for this card, as far as it was run here before.
Part tuned_part(const std::string& card) {
  Part part{{{"rows", Json::array()}}, "", true};
  for (const TunedRow& row : tuned_table() ? tuned_table()->rows : std::vector<TunedRow>{}) {
    if (row.card != card) continue;
    part.json["rows"].push_back(to_text(row));
    part.text += "\n  " + to_text(row);
  }
  const size_t rows = part.json["rows"].size();
  part.text = rows == 0 ? "no rows: `speedlight tune --matrix` was not run, or beat no built-in row"
                        : fmt::format("{} rows that beat built-in ones", rows) + part.text;
  return part;
}

std::string matrix_text(const Json& rows) {
  std::string text;
  for (const Json& row : rows)
    text +=
        fmt::format("\n  D{:<3} S{:<5} {:<6} {:<8} {:6.0f} TFLOP/s {:4.0f} % of ceiling{}", row["head_dim"].get<int>(),
                    row["seqlen"].get<int>(), row["causal"].get<bool>() ? "causal" : "full", row["pass"].get<std::string>(),
                    row["tflops"].get<double>(), 100 * row["share_of_ceiling"].get<double>(), row["correct"].get<bool>() ? "" : "  WRONG");
  return text;
}

std::string file_name(std::string card, const std::string& date) {
  for (char& c : card) c = std::isalnum(static_cast<unsigned char>(c)) ? char(std::tolower(static_cast<unsigned char>(c))) : '-';
  return fmt::format("speedlight-report-{}-{}.json", card, date);
}

// A part that fails to run is a finding like any other: the rest of the report is still worth having.
void add(Json& json, std::string& text, bool& pass, const char* name, const std::function<Part()>& make) {
  const auto start = std::chrono::steady_clock::now();
  fmt::print(stderr, "report: {} ...\n", name);
  Part part;
  try {
    part = make();
  } catch (const std::exception& error) {
    part = {{{"error", error.what()}}, fmt::format("ERROR: {}", error.what()), false};
  }
  part.json["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  part.json["pass"] = part.pass;
  pass &= part.pass;
  text += fmt::format("\n{}{}: {}", part.pass ? "" : "FAILED ", name, part.text);
  json[name] = std::move(part.json);
}

int report(const Target& asked, const ReportOptions& o) {
  Target target = asked;
  target.device = "cuda", target.json = true;  // the parts print nothing by themselves
  Machine machine(target);
  const std::string date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  const bool twin = machine.card().target != gpu::device_facts(target.ordinal).target;
  Json json = {{"report", 1},  {"version", SPEEDLIGHT_VERSION}, {"commit", build_commit()},
               {"date", date}, {"machine", machine.name()},     {"card", machine.card().name},
               {"twin", twin}};
  std::string text =
      fmt::format("Speedlight {} ({}), {} on {}{}, {}", SPEEDLIGHT_VERSION, build_commit(), machine.card().name, machine.name(),
                  twin ? " (the card's twin: answers and occupancy are the card's, rates are not)" : "", date);
  bool pass = true;
  MatrixOptions matrix;
  if (o.quick) matrix.seqlens = {2048};
  add(json, text, pass, "info", info_part);
  add(json, text, pass, "smoke", [&] {
    Part part = smoke_part(machine);
    part.text = part.pass ? "passed" : "\n" + part.text;
    return part;
  });
  add(json, text, pass, "verify", [&] {
    Part part = verify_part(machine, target, {.cases = o.quick ? std::min<i64>(o.cases, 50) : o.cases});
    part.text = fmt::format("{} passed, {} failed", part.json["passed"].get<i64>(), part.json["failed"].get<i64>());
    for (const Json& failure : part.json["failures"]) part.text += "\n  " + failure["again"].get<std::string>();
    return part;
  });
  add(json, text, pass, "repeats", [&] { return repeat_part(machine, target, matrix); });
  add(json, text, pass, "ceilings", [&] { return ceilings_part(machine); });
  add(json, text, pass, "matrix", [&] {
    Part part = bench_part(machine, target, matrix_cells(matrix), {.blocks = 3});
    part.text = "bf16, 32K tokens, width 2048" + matrix_text(part.json["rows"]);
    return part;
  });
  add(json, text, pass, "tuned", [&] { return tuned_part(machine.card().name); });
  add(json, text, pass, "host", [&] {
    Part part;
    part.json = host_times(machine, target, part.text);
    return part;
  });
  json["pass"] = pass;
  const std::string path = o.folder + "/" + file_name(machine.card().name, date);
  std::ofstream file(path);
  file << json.dump(1) << "\n";
  if (!file.flush()) throw Error(Status::invalid_argument, fmt::format("--output {}: {} cannot be written", o.folder, path));
  text += fmt::format("\n{}\nPlease attach {} and paste this text.", pass ? "all passed" : "SOMETHING FAILED", path);
  print(asked, json, text);
  return pass ? 0 : 1;
}

}  // namespace

Run add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "check and time everything on this GPU: a JSON file, and a text to paste into an issue");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<ReportOptions>();
  add_target_options(*command, *target);
  command->add_option("--output", options->folder, "folder for the JSON file")->check(CLI::ExistingDirectory);
  command->add_option("--cases", options->cases, "of verify");
  command->add_flag("--quick", options->quick, "fewer cases and one length: under a minute");
  return [=] { return report(*target, *options); };
}

}  // namespace speedlight::cli
