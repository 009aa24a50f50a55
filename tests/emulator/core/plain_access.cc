// Plain loads and stores of kernel code. Kernels are compiled with -fsanitize=thread, which puts a call before each; these are the callees (the
// sanitizer's own runtime is not linked). Global memory may be touched through ptx/ alone, so a plain access to a registered tensor is a fault.
#include "core/machine.h"

namespace speedlight::emulator {
namespace {

inline void check(const void* p, u32 bytes, const char* what, const void* site) {
  if (!machine || !machine->current || !near_registered(p)) return;
  self().site = site;
  plain_access(p, bytes, what);
}

}  // namespace
}  // namespace speedlight::emulator

#define SPEEDLIGHT_HOOK(name, bytes)                                                                              \
  void __tsan_read##name(void* p) { speedlight::emulator::check(p, bytes, "load", __builtin_return_address(0)); } \
  void __tsan_write##name(void* p) { speedlight::emulator::check(p, bytes, "store", __builtin_return_address(0)); }

extern "C" {
SPEEDLIGHT_HOOK(1, 1)
SPEEDLIGHT_HOOK(2, 2)
SPEEDLIGHT_HOOK(4, 4)
SPEEDLIGHT_HOOK(8, 8)
SPEEDLIGHT_HOOK(16, 16)
void __tsan_unaligned_read2(void* p) { __tsan_read2(p); }
void __tsan_unaligned_read4(void* p) { __tsan_read4(p); }
void __tsan_unaligned_read8(void* p) { __tsan_read8(p); }
void __tsan_unaligned_read16(void* p) { __tsan_read16(p); }
void __tsan_unaligned_write2(void* p) { __tsan_write2(p); }
void __tsan_unaligned_write4(void* p) { __tsan_write4(p); }
void __tsan_unaligned_write8(void* p) { __tsan_write8(p); }
void __tsan_unaligned_write16(void* p) { __tsan_write16(p); }
void __tsan_read_range(void* p, unsigned long bytes) {
  speedlight::emulator::check(p, speedlight::u32(bytes), "load", __builtin_return_address(0));
}
void __tsan_write_range(void* p, unsigned long bytes) {
  speedlight::emulator::check(p, speedlight::u32(bytes), "store", __builtin_return_address(0));
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
}
