// Flags in global memory, the only order between blocks of a launch: a load or a wait acquires, a relaxed add releases what its
// thread's last fence covers.
#include "core/machine.h"

namespace speedlight::emulator {

u32 flag_load(const u32* p) {
  SPEEDLIGHT_EMULATOR_SITE();
  check_flag(p);
  note_wait(Wait::flag, reinterpret_cast<u64>(p), *p);
  self().clock.join_others(std::make_shared<const Others>(machine->flags[p].released));
  return *p;
}

void fence_device() {
  SPEEDLIGHT_EMULATOR_SITE();
  note_wait(Wait::fence);
  Thread& t = self();
  if (t.clock.others) t.released = *t.clock.others;
  t.released.add(t.block, t.clock.seen);
  ++t.clock.seen[t.thread];
}

u32 flag_add(u32* p, u32 value) {
  SPEEDLIGHT_EMULATOR_SITE();
  check_flag(p);
  Flag& flag = machine->flags[p];
  flag.released.join(self().released);
  for (Thread* t : flag.waiting) wake(*t);
  flag.waiting.clear();
  const u32 old = *p;
  *p += value;
  return old;
}

void flag_wait(const u32* p, u32 value) {
  SPEEDLIGHT_EMULATOR_SITE();
  check_flag(p);
  note_wait(Wait::flag, reinterpret_cast<u64>(p), value);
  while (*p != value) {
    machine->flags[p].waiting.push_back(&self());
    block_on(Wait::flag);
  }
  self().clock.join_others(std::make_shared<const Others>(machine->flags[p].released));
  preemption_point();
}

}  // namespace speedlight::emulator
