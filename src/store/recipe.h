// A recipe names one piece of code: a config and a target, as in "pack.b2 @ sm_120". Recipe files list what to compile ahead of time.
//
// A target is an architecture's number, and its code is machine code: 120, "sm_120". Negated it is PTX of that architecture, which a driver
// compiles while it loads it, for every GPU that is not older: -80, "compute_80".
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "plan/kernel.h"
#include "problem/error.h"
#include "store/store.h"

namespace speedlight {

constexpr int ptx_target = -80;  // the PTX that ships: for GPUs that no shipped machine code serves
constexpr bool is_ptx(int target) { return target < 0; }
std::string target_name(int target);

struct Recipe {
  KernelConfig config;
  int target = 0;
};

std::string to_text(const Recipe& recipe);
Recipe parse_recipe(std::string_view line);  // throws Error(invalid_argument) that shows the offending part
int parse_target(std::string_view text);     // the inverse of target_name; throws Error(invalid_argument)
// A recipe a line; empty lines and what follows a '#' are skipped. Errors name the line.
std::vector<Recipe> parse_recipes(std::string_view text);

// What the bundle holds for a target: what ships for it; as PTX, what ships for that architecture but the kernels that only tools
// launch.
std::vector<KernelConfig> bundled_configs(int target);

// compile() for all of them on `threads` threads (0: as many as the machine has). `done` is called once for each, in the order in which they
// end, never twice at a time; `error` is null when the code is good. What `done` throws ends the work and is thrown here.
struct CompileResult {
  std::size_t index = 0;  // into the recipes
  Code code;
  std::exception_ptr error;
};
void compile_parallel(std::span<const Recipe> recipes, unsigned threads, const std::function<void(CompileResult&&)>& done);
// The same through find_code(): what the store holds is not compiled again, and what is compiled stays in the cache folder.
void find_parallel(std::span<const Recipe> recipes, unsigned threads, const std::function<void(CompileResult&&)>& done);

}  // namespace speedlight
