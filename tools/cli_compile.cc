// speedlight compile: machine code without a GPU; a row a kernel: registers, spills, shared memory, milliseconds, bytes.
#include <fmt/format.h>
#include <algorithm>
#include <fstream>
#include "cli.h"
#include "problem/error.h"
#include "store/recipe.h"

namespace speedlight::cli {
namespace {

struct CompileOptions {
  bool shipped = false, count = false, keep = false;
  std::string target = "sm_120", config, recipe;
};

// A recipe file: a config text a line; empty lines and lines that begin with # do not count.
std::vector<KernelConfig> read_recipe(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Status::invalid_argument, fmt::format("--recipe {}: cannot be read", path));
  std::vector<KernelConfig> configs;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') configs.push_back(parse_config(line));
  return configs;
}

std::vector<KernelConfig> choose(const CompileOptions& o, int target) {
  if (o.shipped + !o.config.empty() + !o.recipe.empty() != 1)
    throw Error(Status::invalid_argument, "compile: give exactly one of --shipped, --config TEXT, --recipe FILE");
  if (o.shipped) return bundled_configs(target);
  if (!o.recipe.empty()) return read_recipe(o.recipe);
  return {parse_config(o.config)};
}

Json target_json(int target) { return is_ptx(target) ? Json(target_name(target)) : Json(target); }

int count_rows(const Target& target, const std::vector<KernelConfig>& configs, int sm) {
  int forward = 0, backward = 0, other = 0;
  for (const KernelConfig& config : configs)
    ++(std::holds_alternative<ForwardConfig>(config) ? forward : std::holds_alternative<BackwardConfig>(config) ? backward : other);
  print(target, {{"target", target_json(sm)}, {"forward", forward}, {"backward", backward}, {"other", other}},
        fmt::format("{}: {} forward, {} backward, {} other{}", target_name(sm), forward, backward, other,
                    is_ptx(sm) ? ", as PTX: a driver compiles it while it loads it" : ""));
  return 0;
}

int compile_command(const Target& target, const CompileOptions& o) {
  const int sm = parse_target(o.target);
  const std::vector<KernelConfig> configs = choose(o, sm);
  if (o.count) return count_rows(target, configs, sm);
  Json json = Json::array();
  std::vector<double> times;
  int spilling = 0;
  i64 largest = 0;
  if (!target.json) fmt::print("{:<62} {:>9} {:>6} {:>7} {:>7} {:>7}\n", "config", "registers", "spills", "shared", "ms", "bytes");
  Progress progress("compile", i64(configs.size()));
  for (const KernelConfig& config : configs) {
    const Code code = o.keep ? *find_code(config, sm) : compile(config, sm);
    const i64 shared = shared_bytes(config) + code.static_shared;
    times.push_back(code.compile_ms);
    spilling += code.spill_bytes > 0;
    largest = std::max(largest, shared);
    json.push_back({{"config", to_text(config)},
                    {"registers", code.registers},
                    {"spill_bytes", code.spill_bytes},
                    {"shared_bytes", shared},
                    {"ms", code.compile_ms},
                    {"bytes", code.cubin.size()}});
    if (!target.json)
      fmt::print("{:<62} {:>9} {:>6} {:>7} {:>7.0f} {:>7}\n", to_text(config), code.registers, code.spill_bytes, shared, code.compile_ms,
                 code.cubin.size());
    progress.step(i64(times.size()));
  }
  std::sort(times.begin(), times.end());
  const double median = times.empty() ? 0 : times[times.size() / 2];
  print(target,
        {{"target", target_json(sm)}, {"rows", json}, {"median_ms", median}, {"spilling", spilling}, {"largest_shared_bytes", largest}},
        fmt::format("{} kernels for {}: median {:.0f} ms, {} with spills, at most {} bytes of shared memory", times.size(), target_name(sm),
                    median, spilling, largest));
  return 0;
}

}  // namespace

Run add_compile(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compile", "compile kernels without a GPU and print what they use");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<CompileOptions>();
  command->add_flag("--json", target->json, "print JSON");
  command->add_option("--target", options->target, "sm_80, sm_86, sm_90, sm_120, ...; compute_80: PTX");
  command->add_flag("--shipped", options->shipped, "every kernel that ships for the target");
  command->add_option("--config", options->config, "one kernel by its canonical text");
  command->add_option("--recipe", options->recipe, "a file with a config a line");
  command->add_flag("--keep", options->keep,
                    "through the store: what is found is not compiled again, what is compiled stays in the cache folder");
  command->add_flag("--count", options->count, "only count the kernels");
  return [=] { return compile_command(*target, *options); };
}

}  // namespace speedlight::cli
