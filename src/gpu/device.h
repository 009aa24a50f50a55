// A GPU: facts, loading, launching. Driver API only, opened at run time; no context of our own is ever pushed and left.
#pragma once
#include <string>
#include "plan/plan.h"

namespace speedlight {

// Pointers of a call; unused ones null. `dlse` may be null even when planned as absent only.
struct Pointers {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* out = nullptr;   // backward: the forward's output, read only
  float* lse = nullptr;  // backward: read only
  const void* dout = nullptr;
  const float* dlse = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  void* workspace = nullptr;
  i64 workspace_bytes = 0;
};

// The only judge of pointers: null, alignment against the plan, workspace size. Throws Error(invalid_argument).
void check_pointers(const Plan& plan, const Pointers& pointers);

namespace gpu {

using Stream = void*;  // CUstream

struct DriverFacts {
  bool present = false;
  std::string message;  // why not, or the version text
  int version = 0;      // 12080 = CUDA 12.8
  int devices = 0;
};
DriverFacts driver_facts();             // never throws
DeviceFacts device_facts(int ordinal);  // throws Error(no_driver, unknown_device)
int current_device();                   // of the current context, or 0

// Loads the plan's kernels on the device, so that launch() loads nothing and may be captured. Idempotent, thread-safe.
// If plan.card is another card than the device (the twin), code for the device is loaded and shared memory padded to the card's occupancy.
void prepare(const Plan& plan, int ordinal);
// Enqueues the plan; allocates nothing, synchronises nothing. Prepares first unless prepared; under stream capture that is Error(not_prepared).
void launch(const Plan& plan, const Pointers& pointers, int ordinal, Stream stream);

// Stream-ordered memory for the convenience form.
void* allocate(i64 bytes, int ordinal, Stream stream);  // throws Error(out_of_memory)
void release(void* pointer, int ordinal, Stream stream);

}  // namespace gpu
}  // namespace speedlight
