// Who runs next: lanes of a warp one after another until all wait, then another warp.
#include <algorithm>
#include <numeric>

#include "core/machine.h"

namespace speedlight::emulator {

const Identity* running = nullptr;
Launch* machine = nullptr;

namespace {

void go_to(Fiber& from, Thread* to) {
  machine->current = to;
  running = to;
  fiber_switch(from, to ? to->fiber : machine->main);
}

// The lane that goes first among `ready`.
Thread& pick_lane(Warp& warp) {
  i32 lane = __builtin_ctz(warp.ready);
  if (machine->config.warps == Warps::random) {
    i32 skip = i32(machine->random() % u32(__builtin_popcount(warp.ready)));
    for (u32 rest = warp.ready; skip >= 0; --skip, rest &= rest - 1) lane = __builtin_ctz(rest);
  }
  return warp.lanes[lane];
}

void leave() {
  Thread& thread = self();
  Warp& warp = *thread.warp;
  if (warp.ready) {
    Thread& next = pick_lane(warp);
    if (&next != &thread) go_to(thread.fiber, &next);
  } else {
    go_to(thread.fiber, nullptr);
  }
}

struct Abandon {};  // unwinds the faulting thread up to its entry, so that what the report was made of is freed

void thread_entry(boost::context::detail::transfer_t transfer) {
  fiber_started(transfer);
  try {
    try {
      machine->call(machine->kernel);
    } catch (const std::exception& e) {
      fault(std::string("the kernel threw: ") + e.what());
    }
    check_copies_at_end();
    check_barriers_at_end();
    --self().warp->block->threads_left;
    block_on(Wait::finished);
  } catch (const Abandon&) {
    go_to(self().fiber, nullptr);
  }
  __builtin_unreachable();
}

void start_block(Block& block, u32 index) {
  Launch& m = *machine;
  block.index = index;
  block.threads_left = m.threads;
  block.shared.assign(m.shared_bytes, 0xff);  // NaN in every format
  block.words.assign(ceil_div(m.shared_bytes, 4), {});
  block.overflow.assign(1, {});
  for (auto& b : block.barriers) {
    b = {};
    b.clock.reset(m.threads + max_mbarriers);
  }
  block.mbarriers.clear();
  block.bulk.clear();
  block.threads.assign(m.threads, {});
  block.warps.assign(m.threads / 32, {});
  for (i32 w = 0; w < m.threads / 32; ++w) {
    Warp& warp = block.warps[w];
    warp.block = &block;
    warp.lanes = &block.threads[w * 32];
    warp.index = w;
    warp.ready = ~0u;
    if (machine->config.warps == Warps::random) warp.priority = u32(machine->random());
    for (i32 lane = 0; lane < 32; ++lane) {
      Thread& t = warp.lanes[lane];
      static_cast<Identity&>(t) = {w * 32 + lane, lane, index, m.grid};
      t.warp = &warp;
      t.clock.reset(m.threads + max_mbarriers);
      t.clock.seen[t.thread] = 1;
      fiber_prepare(t.fiber, block.slot * m.threads + t.thread, thread_entry);
    }
  }
}

std::string describe(const Thread& t) {
  switch (t.wait) {
    case Wait::nothing: return "can run";
    case Wait::finished: return "has finished";
    case Wait::collective: return "waits for other lanes in a warp operation";
    case Wait::block_barrier: return "waits at the block barrier";
    case Wait::named_barrier: return "waits at named barrier " + std::to_string(t.wait_on);
    case Wait::fence: return "is in a device fence";
    case Wait::flag: return "waits for a flag in global memory";
    case Wait::mbarrier:
      return "waits for mbarrier at byte " + std::to_string(t.wait_on - shared_base) + ", parity " + std::to_string(t.wait_parity);
  }
  return "";
}

[[noreturn]] void report_deadlock() {
  std::string text = "deadlock: no thread can go on";
  for (const Block& block : machine->resident) {
    if (block.threads_left == 0) continue;
    text += "\n  block " + std::to_string(block.index) + ":";
    for (std::size_t first = 0; first < block.threads.size();) {
      const Thread& t = block.threads[first];
      std::size_t last = first;
      auto same = [&](const Thread& o) {
        return o.wait == t.wait && o.wait_on == t.wait_on && o.wait_parity == t.wait_parity && o.site == t.site;
      };
      while (last + 1 < block.threads.size() && same(block.threads[last + 1])) ++last;
      text += "\n    threads " + std::to_string(first) + " to " + std::to_string(last) + " " + describe(t);
      if (t.wait != Wait::finished) text += describe_site(t.site);
      first = last + 1;
    }
  }
  fault(text);
}

// A warp with lanes that can run, of any resident block; null: none.
Warp* pick_warp(Warp* last) {
  Launch& m = *machine;
  if (m.config.warps == Warps::greedy && last && last->ready) return last;
  std::vector<Warp*> ready;
  std::size_t after_last = 0;
  for (Block& block : m.resident)
    for (Warp& warp : block.warps) {
      if (warp.ready) ready.push_back(&warp);
      if (&warp == last) after_last = ready.size();
    }
  if (ready.empty()) return nullptr;
  if (m.config.warps == Warps::random) {  // so that some warps are far behind others for a while
    Warp& first = **std::ranges::max_element(ready, {}, &Warp::priority);
    if ((m.random() & m.patience) == 0) first.priority = u32(m.random());
    return &first;
  }
  return ready[m.config.warps == Warps::round_robin ? after_last % ready.size() : 0];
}

bool land_something() {
  for (Block& block : machine->resident)
    if (land_bulk(block)) return true;
  return false;
}

void run_blocks() {
  Launch& m = *machine;
  Warp* last = nullptr;
  for (u64 turns = 0;; ++turns) {
    if (turns == m.config.turns) fault("no end: warps have taken " + std::to_string(turns) + " turns; the launch may run for ever");
    bool any_left = false;
    for (Block& block : m.resident) {
      if (block.threads_left == 0 && m.next < m.grid) {
        last = nullptr;
        start_block(block, m.order[m.next++]);
      }
      any_left |= block.threads_left > 0;
    }
    if (!any_left) return;
    Warp* warp = pick_warp(last);
    if (!warp) {
      if (!land_something()) report_deadlock();
      continue;
    }
    last = warp;
    go_to(m.main, &pick_lane(*warp));
    if (!m.fault.empty()) throw Fault(m.fault);
  }
}

}  // namespace

void block_on(Wait why, u32 on, u32 parity) {
  Thread& t = self();
  t.wait = why;
  t.wait_on = on;
  t.wait_parity = parity;
  t.warp->ready &= ~(1u << t.lane);
  if (machine->config.trace && t.warp->ready == 0) count_traced(*t.warp);
  leave();
}

void wake(Thread& t) {
  t.wait = Wait::nothing;
  t.warp->ready |= 1u << t.lane;
}

void preemption_point() {
  if (machine->config.warps != Warps::greedy) go_to(self().fiber, nullptr);
}

void throw_or_leave(const std::string& report) {
  machine->fault = report;
  if (!machine->current) throw Fault(report);
  throw Abandon{};
}

Counts launch_raw(const Config& config, u32 grid, i32 threads, i32 shared_bytes, void (*call)(const void*), const void* kernel) {
  if (threads < 32 || threads > 1024 || threads % 32) throw std::invalid_argument("emulator: threads must be a multiple of 32, 32 to 1024");
  if (shared_bytes < 0 || shared_bytes > 227 * 1024) throw std::invalid_argument("emulator: shared_bytes must be 0 to 232448");
  if (machine) throw std::logic_error("emulator: a launch is under way");
  Launch m;
  static u32 launches = 0;
  m.number = ++launches;
  m.config = config;
  m.grid = grid;
  m.threads = threads;
  m.shared_bytes = shared_bytes;
  m.call = call;
  m.kernel = kernel;
  m.random.seed(config.seed);
  m.order.resize(grid);
  std::iota(m.order.begin(), m.order.end(), 0u);
  if (config.blocks == Blocks::reversed) std::reverse(m.order.begin(), m.order.end());
  if (config.blocks == Blocks::shuffled) std::shuffle(m.order.begin(), m.order.end(), m.random);
  m.patience = (1u << m.random() % 12) - 1;
  m.resident.resize(std::min<std::size_t>(grid, std::max(1, config.resident)));
  for (std::size_t i = 0; i < m.resident.size(); ++i) m.resident[i].slot = i32(i);
  machine = &m;
  struct Reset {
    ~Reset() { machine = nullptr, running = nullptr; }
  } reset;
  run_blocks();
  return m.counts;
}

}  // namespace speedlight::emulator
