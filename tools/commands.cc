// The commands of the tool, and what its main() does.
#include "commands.h"
#include <fmt/format.h>
#include <cstdio>
#include "cli.h"
#include "problem/error.h"

namespace speedlight::cli {

int run_program(int argc, char** argv) {
  CLI::App app("Speedlight: exact fused attention, forward and backward");
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Run>> commands;
  for (auto add : {add_info, add_smoke, add_verify, add_explain, add_compile, add_model, add_bench, add_tune, add_report}) {
    Run run = add(app);
    commands.emplace_back(app.get_subcommands({}).back(), run);
  }
  CLI11_PARSE(app, argc, argv);
  try {
    for (auto& [command, run] : commands)
      if (command->parsed()) return run();
  } catch (const Error& error) {
    fmt::print(stderr, "speedlight: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "speedlight: unexpected: {}\n", error.what());
  }
  return 2;
}

}  // namespace speedlight::cli
