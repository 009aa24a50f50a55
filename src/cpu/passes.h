// The passes of the CPU backend over a whole problem. Nothing is validated here: callers go through attention.h; tests of what validate()
// does not let through yet (windows, other head dims) come here.
#pragma once
#include "cpu/kernels.h"
#include "gpu/device.h"

namespace speedlight::cpu {

// Results depend on the problem and the kernels' variant only, not on the number of threads. Memory: a few tiles a thread, and for backward
// one float a query row. Throws std::bad_alloc.
void run_forward(const Problem& problem, const Pointers& pointers, const Kernels& kernels);
void run_backward(const Problem& problem, const Pointers& pointers, const Kernels& kernels);

}  // namespace speedlight::cpu
