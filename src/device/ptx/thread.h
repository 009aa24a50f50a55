// Who am I, and where is the block's shared memory.
#pragma once
#include "base/types.h"

namespace speedlight::ptx {

using SharedAddress = u32;  // a byte address in the block's shared window; never a pointer

inline i32 thread_index() {
  u32 x;
  asm("mov.u32 %0, %%tid.x;" : "=r"(x));
  return i32(x);
}
inline u32 block_index() {
  u32 x;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
}
inline u32 block_count() {
  u32 x;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(x));
  return x;
}
inline i32 lane_index() {
  u32 x;
  asm("mov.u32 %0, %%laneid;" : "=r"(x));
  return i32(x);
}

// Start of the dynamic shared memory; 1024-byte aligned.
inline SharedAddress dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];
  return static_cast<u32>(__cvta_generic_to_shared(dynamic_shared_memory));
}

}  // namespace speedlight::ptx
