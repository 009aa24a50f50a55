// The command line tool.
#include <fmt/format.h>
#include <cstdio>
#include "cli.h"
#include "problem/error.h"

int main(int argc, char** argv) {
  using namespace speedlight;
  CLI::App app("Speedlight: exact fused attention, forward and backward");
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, cli::Run>> commands;
  for (auto add : {cli::add_info, cli::add_smoke, cli::add_verify, cli::add_explain, cli::add_compile, cli::add_model, cli::add_bench,
                   cli::add_tune, cli::add_report}) {
    cli::Run run = add(app);
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
