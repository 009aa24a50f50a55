// The block's shared memory: every access is checked for range, alignment and initialisation.
#include <cstring>

#include "core/machine.h"

namespace speedlight::emulator {
namespace {

u8* check(Thread& thread, u32 address, u32 bytes) {
  Block& block = *thread.warp->block;
  const i64 offset = i64(address) - shared_base;
  if (offset < 0 || offset + bytes > i64(block.shared.size()))
    fault("lane " + std::to_string(thread.lane) + ": shared access of " + std::to_string(bytes) + " bytes at byte " + std::to_string(offset) +
          ", the block has " + std::to_string(block.shared.size()));
  if (offset % bytes)
    fault("lane " + std::to_string(thread.lane) + ": shared access of " + std::to_string(bytes) + " bytes at byte " + std::to_string(offset) +
          " is misaligned");
  return block.shared.data() + offset;
}

}  // namespace

void* shared_read(Thread& thread, u32 address, u32 bytes) {
  u8* p = check(thread, address, bytes);
  Block& block = *thread.warp->block;
  const u32 word = (address - shared_base) / 4;
  for (u32 i = 0; i < bytes / 4; ++i)
    if (!block.written[word + i])
      fault("lane " + std::to_string(thread.lane) + ": reads shared byte " + std::to_string((word + i) * 4) + ", which nothing wrote");
  return p;
}

void* shared_write(Thread& thread, u32 address, u32 bytes) {
  u8* p = check(thread, address, bytes);
  std::memset(&thread.warp->block->written[(address - shared_base) / 4], 1, bytes / 4);
  return p;
}

void shared_load(u32 from, void* to, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  std::memcpy(to, shared_read(self(), from, bytes), bytes);
}
void shared_store(u32 to, const void* from, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  std::memcpy(shared_write(self(), to, bytes), from, bytes);
}

}  // namespace speedlight::emulator
