// The command line tool: one file a command. Each registers its options and returns the exit status.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include "commit.h"
#include "plan/plan.h"

namespace speedlight::cli {

using Json = nlohmann::ordered_json;

// Options that most commands share.
struct Target {
  std::string device = "auto";  // auto, cpu, cuda
  int ordinal = 0;
  std::string card;  // plan for this card instead (the twin, on another GPU); default SPEEDLIGHT_CARD
  bool json = false;
};
void add_target_options(CLI::App& command, Target& target);
bool use_cuda(const Target& target);           // resolves "auto"; throws Error(no_driver) when cuda was asked for and is not there
DeviceFacts card_facts(const Target& target);  // of --card, or of the device

// Prints `json` when asked for, else `text`.
void print(const Target& target, const Json& json, const std::string& text);

// A bar on stderr when it is a terminal; silent otherwise.
class Progress {
 public:
  Progress(std::string what, i64 total);
  ~Progress();
  void step(i64 done);

 private:
  std::string what_;
  i64 total_;
  bool shown_;
};

using Run = std::function<int()>;
Run add_info(CLI::App& app);
Run add_smoke(CLI::App& app);
Run add_verify(CLI::App& app);
Run add_explain(CLI::App& app);
Run add_compile(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_model(CLI::App& app);
Run add_tune(CLI::App& app);
Run add_report(CLI::App& app);

}  // namespace speedlight::cli
