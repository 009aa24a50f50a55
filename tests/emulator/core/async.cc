// cp.async groups and bulk tensor copies.
#include <cstring>

#include "core/machine.h"
#include "tensor_map.h"

namespace speedlight::emulator {
namespace {

void land(Block& block, const AsyncCopy& c, u32 time) {
  void* to = shared_land(block, c.to, time);
  if (c.from)
    std::memcpy(to, c.from, 16);
  else
    std::memset(to, 0, 16);
}

// The bytes arrive, but nobody may know that yet.
void land_early(Block& block, const AsyncCopy& c) {
  u8* to = block.shared.data() + (c.to - shared_base);
  if (c.from)
    std::memcpy(to, c.from, 16);
  else
    std::memset(to, 0, 16);
}

}  // namespace

void cp_async(u32 to, const void* from, bool valid) {
  SPEEDLIGHT_EMULATOR_SITE();
  ++machine->counts.cp_async;
  trace(self().site, to, 16, true);
  if (valid) trace(self().site, reinterpret_cast<u64>(from), 16, false);
  const AsyncCopy copy{to, valid ? global_read(from, 16) : nullptr, self().site};
  shared_begin(self(), to, Kind::cp_async, u16(self().thread));
  if (machine->config.landing == Landing::at_once) land_early(*self().warp->block, copy);
  self().open.push_back(copy);
}
void cp_async_commit() {
  SPEEDLIGHT_EMULATOR_SITE();
  self().groups.push_back(std::move(self().open));
  self().open.clear();
}
void cp_async_wait(u32 pending) {
  SPEEDLIGHT_EMULATOR_SITE();
  auto& groups = self().groups;
  while (groups.size() > pending) {
    for (const AsyncCopy& c : groups.front()) land(*self().warp->block, c, self().clock.seen[self().thread]);
    groups.pop_front();
  }
}

// The pieces of 16 bytes of the box, where the 128-byte swizzle puts them: the 16-byte chunk's index in its 128-byte row is XORed with the
// row's address bits 7 to 9.
namespace {

// The copy is under way: from `pieces` of 16 bytes, to count on the mbarrier.
void begin_bulk(BulkCopy copy) {
  for (const AsyncCopy& piece : copy.pieces) shared_begin(self(), piece.to, Kind::bulk, u16(copy.barrier->component));
  ++machine->counts.bulk_copies;
  machine->counts.bulk_bytes += copy.bytes;
  self().warp->block->bulk.push_back(std::move(copy));
  if (machine->config.landing == Landing::at_once) land_bulk(*self().warp->block);
}

}  // namespace

void bulk_copy(u32 to, const void* from, u32 bytes, u32 barrier) {
  SPEEDLIGHT_EMULATOR_SITE();
  if (to % 16 || bytes % 16 || reinterpret_cast<u64>(from) % 16)
    fault("bulk copy of " + std::to_string(bytes) + " bytes to shared byte " + std::to_string(i64(to) - shared_base) +
          ": both ends and the size must be multiples of 16");
  if (barrier % 8) fault("bulk copy: its mbarrier is not 8-byte aligned");
  BulkCopy copy{&mbarrier_for_bulk(barrier), bytes, {}};
  for (u32 at = 0; at < bytes; at += 16) copy.pieces.push_back({to + at, global_read(static_cast<const u8*>(from) + at, 16), self().site});
  begin_bulk(std::move(copy));
}
void bulk_tensor_4d(u32 to, const TensorMap& map, i32 dim, i32 row, i32 head, i32 batch, u32 barrier) {
  SPEEDLIGHT_EMULATOR_SITE();
  const DecodedMap m = decode(map);
  if (m.magic != DecodedMap::expected) fault("bulk copy: the tensor map was not made by the emulator's make_tensor_map");
  if (to % 128) fault("bulk copy to shared byte " + std::to_string(i64(to) - shared_base) + ": must be 128-byte aligned");
  if (barrier % 8) fault("bulk copy: its mbarrier is not 8-byte aligned");
  const u32 row_bytes = m.box_dim * m.element_bytes;
  BulkCopy copy{&mbarrier_for_bulk(barrier), row_bytes * m.box_rows, {}};
  for (u32 r = 0; r < m.box_rows; ++r)
    for (u32 chunk = 0; chunk < row_bytes / 16; ++chunk) {
      const u32 linear = to + r * row_bytes + chunk * 16;
      const i64 at[4] = {dim + i64(chunk) * 16 / m.element_bytes, i64(row) + r, head, batch};
      bool inside = true;
      for (i32 i = 0; i < 4; ++i) inside &= at[i] >= 0 && at[i] < m.size[i];
      const u8* from =
          inside ? m.base + at[0] * m.element_bytes + at[1] * m.stride[1] + at[2] * m.stride[2] + at[3] * m.stride[3] : nullptr;
      copy.pieces.push_back({linear ^ ((linear >> 7 & 7) << 4), from ? global_read(from, 16) : nullptr, self().site});
    }
  begin_bulk(std::move(copy));
}
void fence_proxy_async() {
  SPEEDLIGHT_EMULATOR_SITE();
  self().clock.fence();
}

bool land_bulk(Block& block) {
  if (block.bulk.empty()) return false;
  const BulkCopy copy = std::move(block.bulk.front());
  block.bulk.pop_front();
  const u32 time = mbarrier_next_landing(*copy.barrier);
  for (const AsyncCopy& piece : copy.pieces) land(block, piece, time);
  complete_transaction(*copy.barrier, copy.bytes);
  return true;
}

void check_copies_at_end() {
  Thread& t = self();
  bool left = !t.open.empty();
  for (const auto& group : t.groups) left |= !group.empty();
  if (left) fault("the thread ends without having waited for its cp.async copies");
  const Block& block = *t.warp->block;
  if (block.threads_left > 1) return;
  for (const BulkCopy& copy : block.bulk)
    fault("the block ends while a bulk copy may be under way: nobody waited for it" + describe_site(copy.pieces.front().site));
  for (const MBarrier& b : block.mbarriers) {
    bool waited = b.landed == 0;
    for (const Thread& other : block.threads) waited |= other.clock.seen[b.component] >= b.landed;
    if (!waited)
      fault("the block ends while a bulk copy may be under way: nobody waited for mbarrier at shared byte " +
            std::to_string(b.address - shared_base));
  }
}

}  // namespace speedlight::emulator
