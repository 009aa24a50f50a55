// The store: (config, target) -> code. Memory, then the bundle inside the library, then the disk cache, then NVRTC, then PTX of the bundle.
// Targets are as recipe.h has them.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>
#include "plan/kernel.h"

namespace speedlight {

struct Code {
  std::vector<u8> cubin;               // an ELF for the target, or PTX, a text that ends in '\0'
  int registers = 0, spill_bytes = 0;  // a thread, as ptxas reported; 0 for PTX, as the driver decides then
  i64 static_shared = 0;
  double compile_ms = 0;
  std::string producer;  // "NVRTC 12.8.93"
  std::string origin;    // "bundle", "disk", "compiled"

  bool is_ptx() const { return !cubin.empty() && cubin[0] != 0x7f; }  // every ELF begins with 0x7f
};

// Compiles without any GPU; throws Error(no_compiler | compile_failed) with NVRTC's log.
Code compile(const KernelConfig& config, int target);

// The process-wide store; thread-safe. Gives PTX where only that is left. Throws Error(no_compiler) with the missing recipe line when nothing
// is, or when SPEEDLIGHT_JIT=off and neither bundle nor disk holds machine code.
std::shared_ptr<const Code> find_code(const KernelConfig& config, int target);
// Only memory and bundle: null when not shipped. Used for the registers of another card's code (the twin).
std::shared_ptr<const Code> find_shipped(const KernelConfig& config, int target);

struct StoreFacts {
  std::string nvrtc;         // version, or why there is none
  std::string cache_folder;  // and whether it is usable
  bool cache_usable = false;
  std::vector<std::pair<int, int>> shipped;  // target, number of entries; ptx_target first
  std::string bundle_producer;
  u64 bundle_bytes = 0;
  std::string source_digest;
};
StoreFacts store_facts();

}  // namespace speedlight
