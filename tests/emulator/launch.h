// Runs a kernel on the CPU, a fiber a GPU thread. See README.md.
#pragma once
#include <stdexcept>
#include <string>

#include "base/types.h"

namespace speedlight::emulator {

// The adversary: when asynchronous copies land, who runs first.
enum class Landing : u8 { at_once, late };
enum class Warps : u8 { greedy, round_robin, random };
enum class Blocks : u8 { forward, reversed, shuffled };

struct Config {
  Landing landing = Landing::at_once;
  Warps warps = Warps::greedy;
  Blocks blocks = Blocks::forward;
  u64 seed = 1;
  i32 resident = 2;       // blocks that run interleaved
  std::string name = {};  // of the kernel, for reports
  u64 turns = 400'000;    // of warps, after which a launch is taken to run for ever; the case list needs 60'000
  bool trace = false;     // also count what single lanes access together (slower)
};

// What the launch did, over all blocks.
struct Counts {
  u64 mma = 0, ldmatrix = 0, stmatrix = 0, shuffles = 0;          // warp instructions
  u64 block_barriers = 0, named_barriers = 0, warp_barriers = 0;  // completed
  u64 cp_async = 0, bulk_copies = 0, bulk_bytes = 0;              // cp_async: of a thread
  u64 matrix_wavefronts = 0;                                      // of ldmatrix and stmatrix: 4 each without bank conflicts
  // With Config::trace. Lanes that reach the same place equally often since the warp last met count as one warp access.
  u64 shared_accesses = 0, shared_wavefronts = 0;  // plain, and cp.async's writes; wavefronts beyond the least are bank conflicts
  u64 global_accesses = 0, global_sectors = 0;     // plain and cp.async's reads; sectors of 32 bytes
};

std::string to_text(const Counts& counts);  // one line

// A kernel did what it must not; what() is the report.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Counts launch_raw(const Config& config, u32 grid, i32 threads, i32 shared_bytes, void (*call)(const void*), const void* kernel);

// Runs `kernel()` once for every thread of `grid` blocks of `threads` threads with `shared_bytes` of dynamic shared memory.
// Throws Fault. Not reentrant; one launch at a time in a process.
template <class Kernel>
Counts launch(u32 grid, i32 threads, i32 shared_bytes, const Kernel& kernel, const Config& config = {}) {
  return launch_raw(
      config, grid, threads, shared_bytes, [](const void* k) { (*static_cast<const Kernel*>(k))(); }, &kernel);
}

}  // namespace speedlight::emulator
