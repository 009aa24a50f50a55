// Whether a warp meets a block or named barrier as a whole. Hardware counts warps there and takes a warp to come together; where lanes part for
// a plain branch the compiler brings them together again, but after one of them has waited for others nothing says that it does.
//
// The rule: a lane *waits* at an mbarrier, at a flag of global memory and at a device fence. Lanes that have been through different waits since
// their warp last met, at a warp barrier or another operation of the whole warp, must not arrive at the same barrier.
#include "core/machine.h"

namespace speedlight::emulator {
namespace {

const char* name(Wait kind) {
  switch (kind) {
    case Wait::mbarrier: return "a wait for an mbarrier";
    case Wait::flag: return "a wait for a flag in global memory";
    case Wait::fence: return "a device fence";
    default: return "no wait";
  }
}

std::string history(i32 lane, const Waited& w) {
  return "\n    lane " + std::to_string(lane) + ", since the warp last met: " + name(w.kind) + describe_site(w.site);
}

}  // namespace

void note_wait(Wait kind, u64 on, u64 value) {
  Waited& w = self().waited;
  w.kind = kind;
  w.site = self().site;
  for (const u64 part : {u64(kind), on, value}) w.which = (w.which ^ part) * 0x9e3779b97f4a7c15 + (w.which >> 29) + 1;
}

void check_warp_together(Warp& warp) {
  if (warp.parted) fault("the warp meets while only a part of it has arrived at a block or named barrier");
  for (i32 lane = 0; lane < 32; ++lane) warp.lanes[lane].waited = {};
}

std::string barrier_name(i32 number) { return number == 0 ? "the block barrier" : "named barrier " + std::to_string(number); }

void arrive_in_warp(i32 number) {
  const Thread& t = self();
  NamedBarrier& barrier = t.warp->block->barriers[number];
  if (barrier.warps.empty()) barrier.warps.resize(machine->threads / 32);
  NamedBarrier::Part& part = barrier.warps[t.warp->index];
  if (part.lanes >> t.lane & 1) fault(barrier_name(number) + ": this lane comes again before all lanes of its warp have come");
  if (part.lanes == 0) {
    part.first = t.lane;
    part.waited = t.waited;
    ++t.warp->parted;
  } else if (part.waited.which != t.waited.which) {
    fault(barrier_name(number) +
          " is met by the warp in parts: its lanes have waited for different things and nothing has brought them together" +
          history(part.first, part.waited) + history(t.lane, t.waited));
  }
  part.lanes |= 1u << t.lane;
  if (part.lanes != ~0u) return;
  part.lanes = 0;
  --t.warp->parted;
}

}  // namespace speedlight::emulator
