// conformance run [--record FILE] [--seeds N]   on a GPU: compare it with the emulator, for N seeds (default 1), and record the first
// conformance check FILE                        anywhere: compare a recording with the emulator
// conformance list                              the groups
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <span>

#include "conformance/compare.h"
#include "conformance/run.h"
#include "conformance/vectors.h"

namespace speedlight::conformance {
namespace {

struct Total {
  i64 values = 0, inexact = 0, different = 0, runs = 0;
  double worst = 0;
};

// One group on the emulator against a GPU's output. Prints what differs.
bool compare_group(const Group& group, const std::vector<u8>& gpu, u64 seed, Total& total) {
  Comparison c;
  try {
    c = compare(group, gpu, run_emulated(group, {.late = seed % 2 == 0, .random = seed % 3 == 0, .seed = seed}));
  } catch (const std::exception& fault) {
    c.different = 1;
    c.report = std::string("    emulator: ") + fault.what() + "\n";
  }
  total.values += c.values, total.inexact += c.inexact, total.different += c.different, ++total.runs;
  total.worst = std::max(total.worst, c.worst);
  if (c.different) fmt::print("{} (seed {}): {} of {} differ\n{}", group.name, seed, c.different, c.values, c.report);
  return c.different == 0;
}

void print_table(const std::vector<Group>& groups, const std::vector<Total>& totals) {
  fmt::print("\n{:<26} {:>5} {:>9} {:>9} {:>9} {:>9}\n", "group", "runs", "values", "not equal", "outside", "worst");
  for (std::size_t i = 0; i < groups.size(); ++i)
    fmt::print("{:<26} {:>5} {:>9} {:>9} {:>9} {:>9.3g}{}\n", groups[i].name, totals[i].runs, totals[i].values, totals[i].inexact,
               totals[i].different, totals[i].worst, totals[i].different ? "  <--" : "");
  fmt::print("\nnot equal: bit for bit; outside: of the group's rule; worst: ulps, for mma in units of the bound\n");
}

int run(const std::string& record, u64 seeds) {
  const Gpu gpu;
  fmt::print("{}\n", gpu.name());
  Vectors vectors{gpu.name(), {}};
  const std::vector<Group> first = make_groups(recorded_seed);
  std::vector<Total> totals(first.size());
  bool good = true;
  for (u64 seed = recorded_seed; seed < recorded_seed + seeds; ++seed) {
    const std::vector<Group> groups = make_groups(seed);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::vector<u8> output;
      try {
        output = gpu.run(groups[i]);
      } catch (const Error& error) {
        fmt::print("{}: the GPU failed: {}\n", groups[i].name, error.what());
        ++totals[i].different, good = false;
        continue;
      }
      good &= compare_group(groups[i], output, seed, totals[i]);
      if (seed == recorded_seed) vectors.groups.push_back({groups[i].name, digest(groups[i]), std::move(output)});
    }
    if (seed == recorded_seed && !record.empty()) write(vectors, record);
  }
  print_table(first, totals);
  return good ? 0 : 1;
}

int check(const std::string& path) {
  const Vectors vectors = read_vectors(path);
  fmt::print("{}: {}\n", path, vectors.device);
  const std::vector<Group> groups = make_groups(recorded_seed);
  std::vector<Total> totals(groups.size());
  bool good = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const RecordedGroup* recorded = nullptr;
    for (const RecordedGroup& g : vectors.groups)
      if (g.name == groups[i].name && g.input_digest == digest(groups[i])) recorded = &g;
    if (recorded) {
      good &= compare_group(groups[i], recorded->output, recorded_seed, totals[i]);
    } else {
      fmt::print("{}: not recorded, or for another input\n", groups[i].name);
      ++totals[i].different, good = false;
    }
  }
  print_table(groups, totals);
  return good ? 0 : 1;
}

int usage(const std::string& wrong) {
  fmt::print(stderr, "{}\nusage: conformance run [--record FILE] [--seeds N] | check FILE | list\n", wrong);
  return 2;
}

int run_with(std::span<char*> options) {
  std::string record;
  u64 seeds = 1;
  for (std::size_t i = 0; i < options.size(); i += 2) {
    const std::string option = options[i];
    if (i + 1 == options.size()) return usage(option + " needs a value");
    const std::string value = options[i + 1];
    if (option == "--record") {
      record = value;
    } else if (option == "--seeds") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seeds);
      if (error != std::errc() || end != value.data() + value.size() || seeds == 0)
        return usage("--seeds is '" + value + "': must be a number from 1");
    } else {
      return usage("unknown option " + option);
    }
  }
  return run(record, seeds);
}

int main_with(std::span<char*> arguments) {
  const std::string mode = arguments.empty() ? "" : arguments[0];
  if (mode == "run") return run_with(arguments.subspan(1));
  if (mode == "check" && arguments.size() == 2) return check(arguments[1]);
  if (mode != "list" || arguments.size() != 1) return usage("no such command");
  for (const Group& g : make_groups(recorded_seed))
    fmt::print("{:<26} {} blocks of {}, {} bytes in, {} out\n", g.name, g.grid, g.threads, g.input.size(), g.output_bytes);
  return 0;
}

}  // namespace
}  // namespace speedlight::conformance

int main(int count, char** arguments) {
  try {
    return speedlight::conformance::main_with(std::span(arguments, std::size_t(count)).subspan(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "conformance: {}\n", error.what());
    return 2;
  }
}
