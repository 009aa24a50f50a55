// Writes the host translation units of kernels: <folder>/kernels_<i>.cc, i below <shards>. Arguments: folder, shards, then any of
//   a target        its shipped kernels
//   few, more       the sweep of other tunings (planned/sweep.h)
//   a config's text that kernel
// A backward kernel brings its helper passes along.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/tables.h"
#include "planned/sweep.h"

using namespace speedlight;

namespace {

// Unchanged files are left alone, so that nothing is built again for them.
void write(const std::string& path, const std::string& text) {
  std::ifstream old(path);
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return;
  std::ofstream(path) << text;
}

std::vector<KernelConfig> named_by(const std::string& argument) {
  if (argument == "few") return emulator::sweep(emulator::Sweep::few);
  if (argument == "more") return emulator::sweep(emulator::Sweep::more);
  if (argument.find_first_not_of("0123456789") == std::string::npos) return shipped_configs(std::stoi(argument));
  return {parse_config(argument)};
}

std::vector<KernelConfig> with_helpers(std::vector<KernelConfig> list) {
  for (std::size_t i = 0, main = list.size(); i < main; ++i)
    if (const auto* b = std::get_if<BackwardConfig>(&list[i])) {
      const Spec elements = plan::spec_for(b->spec.dtype, b->spec.head_dim, MaskKind::none);
      const PostprocessConfig post{elements, b->dq_layout()};
      list.insert(list.end(), {PreprocessConfig{elements}, post});
    }
  return list;
}

std::string unit_of(const KernelConfig& config) {
  const std::string source = kernel_source(config), symbol = kernel_symbol(config);
  const auto type_at = source.find("__grid_constant__ ") + 18;
  const std::string params = source.substr(type_at, source.find(' ', type_at) - type_at);
  return source + "static const emulator::RegisterKernel register_" + symbol + "(\"" + to_text(config) + "\", [](const void* p) { " +
         symbol + "(*static_cast<const " + params + "*>(p)); });\n\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: %s folder shards target|few|more|config...\n", argv[0]), 2;
  const std::size_t shards = std::size_t(std::atoi(argv[2]));
  const std::vector<std::string> arguments(argv + 3, argv + argc);
  std::set<std::string> seen;
  std::vector<std::string> texts(shards, "#include \"planned/kernel_entry.h\"\n");
  std::size_t next = 0;
  for (const std::string& argument : arguments)
    for (const KernelConfig& config : with_helpers(named_by(argument)))
      if (!std::holds_alternative<CeilingConfig>(config) && seen.insert(to_text(config)).second) texts[next++ % shards] += unit_of(config);
  for (std::size_t i = 0; i < shards; ++i) write(std::string(argv[1]) + "/kernels_" + std::to_string(i) + ".cc", texts[i]);
  return 0;
}
