// Memory, calls, clocks and the reference on the device under test, CPU or GPU, for the command line tool.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "cli.h"
#include "cpu/reference.h"
#include "gpu/device.h"

namespace speedlight::cli {

// Two streams of a GPU: what is looked at, and other work beside it, which gets free SMs first. The CPU does all at once.
enum class Queue { main, beside };

class Machine {
 public:
  explicit Machine(const Target& target);
  ~Machine();
  bool cuda() const { return cuda_; }
  const DeviceFacts& card() const { return card_; }  // that `plan` is asked for; empty on the CPU
  std::string name() const;

  void* memory(i64 bytes);    // one block, kept and grown
  void* allocate(i64 bytes);  // more blocks, freed with the machine; Error(out_of_memory)
  void write(void* to, const void* from, i64 bytes);
  void read(void* to, const void* from, i64 bytes);
  void fill(void* to, u8 byte, i64 bytes);
  void copy(void* to, const void* from, i64 bytes, Queue queue = Queue::main);  // within the machine; GPU: enqueued

  // What the library would plan, with the user's tuned rows. GPU only.
  Plan plan(const Problem& problem, Pass pass) const;
  i64 l2_bytes() const;  // GPU only
  // Plans (on a GPU), checks and runs one pass, and waits for it. workspace_bytes() first.
  i64 workspace_bytes(const Problem& problem, Pass pass) const;
  void run(const Problem& problem, Pass pass, const Pointers& pointers);

  // `enqueue` is called `count` times (GPU: between two events of the main queue); milliseconds a call.
  double time(const std::function<void()>& enqueue, int count);
  void synchronize(Queue queue = Queue::main);
  // GPU only: a launch of a kernel that no plan holds (reference, ceiling, digest), resolved; `params` is read at each call.
  std::function<void()> launcher(const KernelConfig& config, u32 grid, const void* params, Queue queue = Queue::main);

  // Float64 values, on the GPU where there is one. `host` points into host memory, `device` into this machine's.
  reference::Values reference(const Problem& problem, const Pointers& host, const Pointers& device, bool backward,
                              reference::Arithmetic arithmetic);

 private:
  struct Events;
  bool cuda_ = false;
  int ordinal_ = 0;
  DeviceFacts card_;
  void* block_ = nullptr;
  i64 block_bytes_ = 0;
  std::vector<void*> blocks_;
  std::unique_ptr<Events> events_;
};

}  // namespace speedlight::cli
