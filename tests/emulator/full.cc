// The full product: every kernel of the tests, every shape, every combination of modes; `make emulator-full` runs it.
// usage: emulated_full [jobs] [part of a config's text]
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <set>

#include "planned/cases.h"
#include "planned/run_plan.h"

namespace speedlight {
namespace {

// What the processes that share the work see of one another.
struct Shared {
  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<u64> runs{0}, failures{0};
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<std::string> kernels_with(const std::string& part) {
  std::vector<std::string> list;
  for (const auto& [text, entry] : emulator::kernels())
    if ((text.starts_with("fwd") || text.starts_with("bwd.")) && text.find(part) != std::string::npos) list.push_back(text);
  return list;
}

// All modes that differ for the case, the first three failures printed.
void run_case(const emulator::PlannedCase& planned, Shared& shared) {
  emulator::CaseRunner runner(planned);
  std::set<emulator::Levels> seen;
  int failures = 0;
  for (const emulator::Config& modes : emulator::all_modes()) {
    const emulator::Config effective = emulator::normalised(modes, planned.grid());
    if (!seen.insert({i32(effective.landing), i32(effective.warps), i32(effective.blocks), effective.resident}).second) continue;
    const std::string wrong = runner.run(effective);
    ++shared.runs;
    if (wrong.empty()) continue;
    ++shared.failures;
    if (++failures <= 3) std::printf("FAILED %s\n", wrong.c_str());
  }
}

void run_kernel(const std::string& text, std::size_t all, double start, Shared& shared) {
  const double began = seconds();
  const u64 failures = shared.failures;
  try {
    for (const emulator::PlannedCase& planned : emulator::cases_of(parse_config(text))) run_case(planned, shared);
  } catch (const std::exception& e) {
    ++shared.failures;
    std::printf("FAILED %s: %s\n", text.c_str(), e.what());
  }
  std::printf("%6.0f s  %zu/%zu  %s  %.1f s%s\n", seconds() - start, ++shared.done, all, text.c_str(), seconds() - began,
              shared.failures != failures ? "  (failures)" : "");
  std::fflush(stdout);
}

int run_all(int jobs, const std::vector<std::string>& kernels) {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::perror("emulated_full: mmap"), 2;
  Shared& shared = *new (memory) Shared;
  const double start = seconds();
  for (int i = 0; i < jobs; ++i) {
    const pid_t child = fork();
    if (child < 0) return std::perror("emulated_full: fork"), 2;
    if (child > 0) continue;
    for (std::size_t k; (k = shared.next++) < kernels.size();) run_kernel(kernels[k], kernels.size(), start, shared);
    std::_Exit(0);
  }
  bool died = false;
  for (int status; wait(&status) > 0;) died |= status != 0;
  std::printf("%zu of %zu kernels, %llu runs, %llu failures, %.0f s with %d jobs%s\n", shared.done.load(), kernels.size(),
              static_cast<unsigned long long>(shared.runs), static_cast<unsigned long long>(shared.failures), seconds() - start, jobs,
              died ? "; a process died" : "");
  return died || shared.failures > 0 || shared.done != kernels.size() || kernels.empty();
}

}  // namespace
}  // namespace speedlight

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 2;
  if (jobs < 1) return std::fprintf(stderr, "usage: %s [jobs, at least 1] [part of a config's text]\n", argv[0]), 2;
  return speedlight::run_all(jobs, speedlight::kernels_with(argc > 2 ? argv[2] : ""));
}
