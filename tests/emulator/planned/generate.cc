// Writes the host translation units of kernels: <folder>/kernels_<i>.cc, i below <shards>. Arguments: folder, shards, then targets, which
// stand for their shipped kernels, or texts of configs; one of backward brings its helper passes along.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/tables.h"

using namespace speedlight;

namespace {

// Unchanged files are left alone, so that nothing is built again for them.
void write(const std::string& path, const std::string& text) {
  std::ifstream old(path);
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return;
  std::ofstream(path) << text;
}

std::vector<KernelConfig> configs_of(const std::string& argument) {
  if (argument.find_first_not_of("0123456789") == std::string::npos) return shipped_configs(std::stoi(argument));
  std::vector<KernelConfig> list{parse_config(argument)};
  if (const auto* b = std::get_if<BackwardConfig>(&list.front())) {
    const Spec elements = plan::spec_for(b->spec.dtype, b->spec.head_dim, MaskKind::none);
    list.insert(list.end(), {PreprocessConfig{elements}, PostprocessConfig{elements, b->dq_layout()}});
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: %s folder shards target|config...\n", argv[0]), 2;
  const int shards = std::atoi(argv[2]);
  std::vector<std::string> texts(shards, "#include \"planned/kernel_entry.h\"\n");
  std::set<std::string> seen;
  for (int i = 3; i < argc; ++i)
    for (const KernelConfig& config : configs_of(argv[i])) {
      if (std::holds_alternative<CeilingConfig>(config) || !seen.insert(to_text(config)).second) continue;
      const std::string source = kernel_source(config);
      const auto type_at = source.find("__grid_constant__ ") + 18;
      const std::string params = source.substr(type_at, source.find(' ', type_at) - type_at), symbol = kernel_symbol(config);
      texts[seen.size() % shards] += source + "static const emulator::RegisterKernel register_" + symbol + "(\"" + to_text(config) +
                                     "\", [](const void* p) { " + symbol + "(*static_cast<const " + params + "*>(p)); });\n\n";
    }
  for (int i = 0; i < shards; ++i) write(std::string(argv[1]) + "/kernels_" + std::to_string(i) + ".cc", texts[i]);
  return 0;
}
