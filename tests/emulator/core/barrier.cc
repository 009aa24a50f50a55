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
  arrive_in_warp(number);
  ++b.arrived;
  publish(self(), b.clock);
  if (waits) b.waiting.push_back(&self());
  if (b.arrived < b.expected) return waits ? block_on(why, u32(number)) : void();
  b.arrived = 0;
  for (std::size_t w = 0; w < b.warps.size(); ++w)
    if (b.warps[w].lanes) fault(barrier_name(number) + " is complete with only a part of warp " + std::to_string(w));
  ++(why == Wait::block_barrier ? machine->counts.block_barriers : machine->counts.named_barriers);
  for (Thread* t : b.waiting) {
    t->clock.join(b.clock);
    wake(*t);
  }
  b.waiting.clear();
  b.clock.reset(i32(b.clock.seen.size()));
  if (waits) preemption_point();
}

void check_named(i32 barrier, i32 threads) {
  if (barrier < 1 || barrier > 15) fault("named barrier " + std::to_string(barrier) + ": must be 1 to 15");
  if (threads <= 0 || threads % 32 || threads > machine->threads)
    fault("named barrier " + std::to_string(barrier) + " with " + std::to_string(threads) +
          " threads: must be a multiple of 32, at most the block's");
}

std::string at_byte(u32 address) { return " at shared byte " + std::to_string(i64(address) - shared_base); }

MBarrier& find(u32 address) {
  const Thread& t = self();
  for (MBarrier& b : t.warp->block->mbarriers)
    if (b.address == address) {
      if (b.init.who != t.thread && t.clock.seen[b.init.who] < b.init.time)
        fault("mbarrier" + at_byte(address) + ": no barrier orders its init by thread " + std::to_string(b.init.who) + " before this use");
      return b;
    }
  fault("no mbarrier was initialised" + at_byte(address));
}

void complete_if_due(MBarrier& b) {
  if (b.pending < 0) fault("mbarrier" + at_byte(b.address) + ": more arrivals than its count in one phase");
  if (b.pending > 0 || b.transaction != 0) return;
  ++b.phase;
  b.pending = b.arrivals;
  b.waited = !b.waiting.empty();
  b.completed = b.arriving;
  for (Thread* t : b.waiting) wake(*t);
  b.waiting.clear();
}

// What compute-sanitizer calls a missing wait: harmless where something else keeps the phases apart, but then the wait costs nothing either.
void arrive(MBarrier& b) {
  if (b.pending == b.arrivals && !b.waited) fault("mbarrier" + at_byte(b.address) + ": an arrival, but nobody waited for the phase before");
  publish(self(), b.arriving);
  --b.pending;
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

void check_barriers_at_end() {
  const Block& block = *self().warp->block;
  if (block.threads_left > 1) return;
  for (i32 i = 0; i < 16; ++i)
    if (block.barriers[i].arrived)
      fault("the block ends with " + std::to_string(block.barriers[i].arrived) + " of " + std::to_string(block.barriers[i].expected) +
            " threads at " + barrier_name(i));
}

void publish(Thread& t, Clock& to) {
  to.join(t.clock);
  ++t.clock.seen[t.thread];
}

void mbarrier_init(u32 address, u32 arrivals) {
  SPEEDLIGHT_EMULATOR_SITE();
  if (arrivals == 0 || arrivals >= 1u << 20) fault("mbarrier.init with a count of " + std::to_string(arrivals));
  Block& block = *self().warp->block;
  for (const MBarrier& b : block.mbarriers)
    if (b.address == address) fault("mbarrier" + at_byte(address) + " is initialised twice");
  if (i32(block.mbarriers.size()) == max_mbarriers) fault("more than " + std::to_string(max_mbarriers) + " mbarriers");
  shared_write(self(), address, 8, Kind::mbarrier);
  MBarrier b;
  b.address = address;
  b.arrivals = arrivals;
  b.pending = arrivals;
  b.component = machine->threads + i32(block.mbarriers.size());
  b.init = block.words[(address - shared_base) / 4].write;
  b.arriving.reset(i32(self().clock.seen.size()));
  b.completed = b.arriving;
  block.mbarriers.push_back(std::move(b));
}
void mbarrier_fence_init() { fence_proxy_async(); }

void mbarrier_arrive(u32 address) {
  SPEEDLIGHT_EMULATOR_SITE();
  MBarrier& b = find(address);
  arrive(b);
  complete_if_due(b);
}
void mbarrier_arrive_expect(u32 address, u32 bytes) {
  SPEEDLIGHT_EMULATOR_SITE();
  MBarrier& b = find(address);
  arrive(b);
  b.transaction += bytes;
  complete_if_due(b);
}
MBarrier& mbarrier_for_bulk(u32 address) {
  MBarrier& b = find(address);
  if (self().clock.fenced[b.init.who] < b.init.time)
    fault("bulk copy: no fence makes the init of its mbarrier" + at_byte(address) + " visible to it");
  return b;
}
u32 mbarrier_next_landing(MBarrier& b) { return b.arriving.seen[b.component] = ++b.landed; }
void complete_transaction(MBarrier& b, u32 bytes) {
  b.transaction -= bytes;
  complete_if_due(b);
}
void mbarrier_wait(u32 address, u32 parity) {
  SPEEDLIGHT_EMULATOR_SITE();
  if (parity > 1) fault("mbarrier wait with parity " + std::to_string(parity));
  MBarrier& b = find(address);
  note_wait(Wait::mbarrier, address, parity);
  if ((b.phase & 1) == parity) {
    const u64 awaited = b.phase;
    b.waiting.push_back(&self());
    block_on(Wait::mbarrier, address, parity);
    if (b.phase != awaited + 1)
      fault("mbarrier" + at_byte(address) + ": the phase that this thread waited for and the one after it have passed; it can miss them");
  }
  b.waited = true;
  self().clock.join(b.completed);
  preemption_point();
}

}  // namespace speedlight::emulator
