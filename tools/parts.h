// What a command finds, as JSON and as text: each command prints its own, `report` puts them together.
#pragma once
#include <span>
#include "measure.h"

namespace speedlight::cli {

struct Part {
  Json json;
  std::string text;  // without a line break at its end
  bool pass = true;
};

Part info_part();
Part smoke_part(Machine& machine);

struct VerifyOptions {
  i64 cases = 200, only = -1;
  u64 seed = 1;
  double work = 0;
};
// Prints each failing problem as it is found, unless the target wants JSON.
Part verify_part(Machine& machine, const Target& target, const VerifyOptions& options);

struct BenchOptions {
  int blocks = 5;
  std::vector<std::string> passes{"forward", "backward"};
  std::vector<KernelConfig> configs;  // timed in place of the planned ones, where they fit a cell
  Determinism determinism = Determinism::none;
  int repeats = 0;  // runs under load that must give the same bits; with batch_invariant, also in other batches
};
// A line a cell is printed as it is measured, unless the target wants JSON; `text` only sums up.
Part bench_part(Machine& machine, const Target& target, std::span<const Cell> cells, const BenchOptions& options);

}  // namespace speedlight::cli
