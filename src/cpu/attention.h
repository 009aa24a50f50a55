// The CPU backend: the same calls on CPU memory. Blocked, all cores, memory linear in the sequence.
#pragma once
#include "gpu/device.h"

namespace speedlight::cpu {

// Throws Error as the GPU does; pointers.workspace is not used.
void forward(const Problem& problem, const Pointers& pointers);
void backward(const Problem& problem, const Pointers& pointers);

}  // namespace speedlight::cpu
