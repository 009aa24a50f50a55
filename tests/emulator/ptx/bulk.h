// Host twin of src/device/ptx/bulk.h. The map is the emulator's own (tensor_map.h).
#pragma once
#include "config/params.h"
#include "ptx/thread.h"

namespace speedlight::ptx {

inline void bulk_tensor_4d(SharedAddress to, const TensorMap& map, i32 dim, i32 row, i32 head, i32 batch, SharedAddress barrier) {
  emulator::bulk_tensor_4d(to, map, dim, row, head, batch, barrier);
}
inline void bulk_copy(SharedAddress to, const void* from, u32 bytes, SharedAddress barrier) {
  emulator::bulk_copy(to, from, bytes, barrier);
}
inline void fence_proxy_async() { emulator::fence_proxy_async(); }

}  // namespace speedlight::ptx
