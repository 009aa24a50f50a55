// Barriers of the block, named barriers, mbarriers.
#include "core/machine.h"

namespace speedlight::emulator {
namespace {

void arrive_at(i32 number, i32 threads, bool waits, Wait why) {
  Block& block = *self().warp->block;
  NamedBarrier& b = block.barriers[number];
  if (b.arrived == 0) b.expected = threads;
  if (b.expected != threads)
    fault("barrier " + std::to_string(number) + " is used with " + std::to_string(threads) + " threads here and with " +
          std::to_string(b.expected) + " by those already there");
  ++b.arrived;
  if (waits && b.arrived < b.expected) {
    b.waiting.push_back(&self());
    return block_on(why, u32(number));
  }
  if (b.arrived < b.expected) return;
  b.arrived = 0;
  ++(why == Wait::block_barrier ? machine->counts.block_barriers : machine->counts.named_barriers);
  for (Thread* t : b.waiting) wake(*t);
  b.waiting.clear();
  if (waits) preemption_point();
}

void check_named(i32 barrier, i32 threads) {
  if (barrier < 1 || barrier > 15) fault("named barrier " + std::to_string(barrier) + ": must be 1 to 15");
  if (threads <= 0 || threads % 32 || threads > machine->threads)
    fault("named barrier " + std::to_string(barrier) + " with " + std::to_string(threads) + " threads: must be a multiple of 32, at most the block's");
}

MBarrier& find(Block& block, u32 address) {
  for (MBarrier& b : block.mbarriers)
    if (b.address == address) return b;
  fault("no mbarrier was initialised at shared byte " + std::to_string(i64(address) - shared_base));
}

void complete_if_due(MBarrier& b) {
  if (b.pending < 0) fault("mbarrier at shared byte " + std::to_string(b.address - shared_base) + ": more arrivals than its count in one phase");
  if (b.pending > 0 || b.transaction != 0) return;
  ++b.phase;
  b.pending = b.arrivals;
  for (Thread* t : b.waiting) wake(*t);
  b.waiting.clear();
}

}  // namespace

void sync_block() {
  SPEEDLIGHT_EMULATOR_SITE();
  arrive_at(0, machine->threads, true, Wait::block_barrier);
}
void sync_named(i32 barrier, i32 threads) {
  SPEEDLIGHT_EMULATOR_SITE();
  check_named(barrier, threads);
  arrive_at(barrier, threads, true, Wait::named_barrier);
}
void arrive_named(i32 barrier, i32 threads) {
  SPEEDLIGHT_EMULATOR_SITE();
  check_named(barrier, threads);
  arrive_at(barrier, threads, false, Wait::named_barrier);
}

void mbarrier_init(u32 address, u32 arrivals) {
  SPEEDLIGHT_EMULATOR_SITE();
  if (arrivals == 0 || arrivals >= 1u << 20) fault("mbarrier.init with a count of " + std::to_string(arrivals));
  shared_write(self(), address, 8);
  Block& block = *self().warp->block;
  for (const MBarrier& b : block.mbarriers)
    if (b.address == address) fault("mbarrier at shared byte " + std::to_string(address - shared_base) + " is initialised twice");
  block.mbarriers.push_back({address, arrivals, i64(arrivals), 0, 0, {}});
}
void mbarrier_fence_init() { SPEEDLIGHT_EMULATOR_SITE(); }

void mbarrier_arrive(u32 address) {
  SPEEDLIGHT_EMULATOR_SITE();
  MBarrier& b = find(*self().warp->block, address);
  --b.pending;
  complete_if_due(b);
}
void mbarrier_arrive_expect(u32 address, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  MBarrier& b = find(*self().warp->block, address);
  b.transaction += bytes;
  --b.pending;
  complete_if_due(b);
}
void complete_transaction(Block& block, u32 barrier, u32 bytes) {
  MBarrier& b = find(block, barrier);
  b.transaction -= bytes;
  complete_if_due(b);
}
void mbarrier_wait(u32 address, u32 parity) {
  SPEEDLIGHT_EMULATOR_SITE();
  if (parity > 1) fault("mbarrier wait with parity " + std::to_string(parity));
  for (;;) {
    MBarrier& b = find(*self().warp->block, address);
    if ((b.phase & 1) != parity) break;
    b.waiting.push_back(&self());
    block_on(Wait::mbarrier, address, parity);
  }
  preemption_point();
}

}  // namespace speedlight::emulator
