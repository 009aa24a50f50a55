// Host twin of src/device/ptx/cp_async.h.
#pragma once
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void cp_async_16(SharedAddress to, const void* from, bool valid) { emulator::cp_async(to, from, valid); }
inline void cp_async_commit() { emulator::cp_async_commit(); }
template <int Pending>
inline void cp_async_wait() {
  emulator::cp_async_wait(Pending);
}

}  // namespace speedlight::ptx
