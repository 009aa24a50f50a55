// Which context a call works in, and getting back to the caller's when it is done.
#pragma once
#include "gpu/driver.h"

namespace speedlight::gpu {

// Throws Error(no_driver, or unknown_device naming the ordinal and how many there are).
void check_ordinal(const Driver& driver, int ordinal);

// While it lives, a context of the device is current: the stream's own; else the current one if it is of this device; else the device's
// primary one. The destructor restores what was current before.
class ContextGuard {
 public:
  // Throws Error(invalid_argument) when the stream is another device's.
  ContextGuard(const Driver& driver, int ordinal, CUstream stream = nullptr);
  ~ContextGuard() {
    CUcontext popped;
    if (pushed_) driver_.cuCtxPopCurrent(&popped);
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  void push(CUcontext context);
  int current_device() const;  // -1 without a current context

  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace speedlight::gpu
