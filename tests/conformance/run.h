// Runs a group on the emulator or on a GPU. Both fill the output with 0xff first.
#pragma once
#include <string>
#include <vector>

#include "conformance/groups.h"
#include "problem/error.h"

namespace speedlight::conformance {

struct Adversary {  // the emulator's modes
  bool late = false, random = false;
  u64 seed = 1;
};
std::vector<u8> run_emulated(const Group& group, const Adversary& adversary);  // throws emulator::Fault

// The kernels as machine code for one target, embedded by compile_kernels.cc at build time.
struct Machine {
  int target;
  const u8* code;
  u64 bytes;
};
extern const Machine machines[];
extern const int machine_count;

// A GPU with the kernels loaded. Throws Error(no_driver) without one, Error(unknown_device) when no code fits.
class Gpu {
 public:
  explicit Gpu(int ordinal = 0);
  std::vector<u8> run(const Group& group) const;  // throws Error(cuda_error)
  const std::string& name() const { return name_; }

 private:
  int ordinal_;
  std::string name_;
  void* library_ = nullptr;
};
bool has_gpu(std::string* why);

}  // namespace speedlight::conformance
