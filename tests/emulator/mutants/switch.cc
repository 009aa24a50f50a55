// Environment: SPEEDLIGHT_MUTANT chooses the mutant; with -1 the numbers of all sites reached are written to the file SPEEDLIGHT_MUTANT_REACHED.
#include "mutants/switch.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "core/machine.h"

namespace speedlight {
namespace mutants {

const int chosen = std::getenv("SPEEDLIGHT_MUTANT") ? std::atoi(std::getenv("SPEEDLIGHT_MUTANT")) : 0;

namespace {
struct Reached {
  std::set<int> ids;
  ~Reached() {
    const char* path = std::getenv("SPEEDLIGHT_MUTANT_REACHED");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    for (const int id : ids) std::fprintf(file, "%d\n", id);
    std::fclose(file);
  }
} all;
}  // namespace

bool reached(int id) {
  all.ids.insert(id);
  return false;
}

void wait_relaxed_32(const u32* p, u32 value) {
  const auto before = emulator::self().clock.others;
  emulator::flag_wait(p, value);
  emulator::self().clock.others = before;
}

}  // namespace mutants
}  // namespace speedlight
