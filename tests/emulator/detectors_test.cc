// Every detector fires on a made-up kernel with that fault, and stays quiet on the same kernel without it.
#include <gtest/gtest.h>

#include <vector>

#include "launch.h"
#include "memory.h"
#include "ptx/barrier.h"
#include "ptx/bulk.h"
#include "ptx/cp_async.h"
#include "ptx/global.h"
#include "ptx/matrix.h"
#include "ptx/mbarrier.h"
#include "ptx/warp.h"
#include "tensor_map.h"

namespace speedlight {
namespace {

using emulator::Access;
using emulator::Region;

// All combinations of modes: a detector must not depend on luck.
std::vector<emulator::Config> all_modes() {
  std::vector<emulator::Config> list;
  for (const auto landing : {emulator::Landing::at_once, emulator::Landing::late})
    for (const auto warps : {emulator::Warps::greedy, emulator::Warps::round_robin, emulator::Warps::random})
      for (const auto blocks : {emulator::Blocks::forward, emulator::Blocks::reversed, emulator::Blocks::shuffled})
        list.push_back({.landing = landing, .warps = warps, .blocks = blocks, .seed = 7, .name = "made.up"});
  return list;
}

template <class Kernel>
void expect_fault(const char* part, u32 grid, i32 threads, const Kernel& kernel) {
  for (const auto& config : all_modes()) {
    try {
      emulator::launch(grid, threads, 8192, kernel, config);
      ADD_FAILURE() << "no fault; expected: " << part;
    } catch (const emulator::Fault& f) {
      EXPECT_NE(std::string(f.what()).find(part), std::string::npos) << f.what();
      EXPECT_NE(std::string(f.what()).find("made.up"), std::string::npos);
    }
  }
}
template <class Kernel>
void expect_clean(u32 grid, i32 threads, const Kernel& kernel) {
  for (const auto& config : all_modes()) EXPECT_NO_THROW(emulator::launch(grid, threads, 8192, kernel, config));
}

ptx::SharedAddress at(i32 byte) { return ptx::dynamic_shared() + u32(byte); }

TEST(Detectors, shared_range_alignment_and_initialisation) {
  expect_fault("out of range", 1, 32, [] { ptx::store_shared_32(at(8192), 0); });
  expect_fault("out of range", 1, 32, [] { ptx::store_shared_32(u32(ptx::thread_index()), 0); });
  expect_fault("misaligned", 1, 32, [] { ptx::store_shared_128(at(8), {}); });
  expect_fault("nothing wrote", 1, 32, [] { ptx::load_shared_32(at(0)); });
}

TEST(Detectors, races_between_warps) {
  const auto kernel = [](bool barrier, bool second) {
    const i32 t = ptx::thread_index();
    ptx::store_shared_32(at(4 * t), u32(t));
    if (barrier) ptx::sync_block();
    ptx::load_shared_32(at(4 * (t ^ 32)));
    if (second) ptx::sync_block();
    ptx::store_shared_32(at(4 * t), 0);
  };
  expect_clean(2, 64, [&] { kernel(true, true); });
  expect_fault("race: ", 2, 64, [&] { kernel(true, false); });
  expect_fault("", 2, 64, [&] { kernel(false, true); });
}

TEST(Detectors, lanes_are_ordered_by_warp_barriers_only) {
  const auto kernel = [](i32 how) {
    const i32 lane = ptx::lane_index();
    ptx::store_shared_32(at(4 * lane), u32(lane));
    if (how == 0) ptx::sync_warp();
    if (how == 1) ptx::shuffle_xor(u32(lane), 1);
    if (how == 2) ptx::any(true);
    u32 r[4];
    ptx::ldmatrix_x4(r, at(lane % 8 * 16));
  };
  expect_clean(1, 32, [&] { kernel(0); });
  expect_fault("race: reads what another wrote", 1, 32, [&] { kernel(1); });
  expect_fault("race: reads what another wrote", 1, 32, [&] { kernel(2); });
}

TEST(Detectors, named_barriers_order_who_waits) {
  const auto kernel = [](bool producer_waits_for_consumer) {
    const i32 t = ptx::thread_index();
    for (i32 round = 0; round < 3; ++round)
      if (t < 32) {
        if (producer_waits_for_consumer && round > 0) ptx::sync_named(2, 64);
        ptx::store_shared_32(at(4 * t), u32(round));
        ptx::arrive_named(1, 64);
      } else {
        ptx::sync_named(1, 64);
        ptx::load_shared_32(at(4 * (t - 32)));
        if (round < 2) ptx::arrive_named(2, 64);
      }
  };
  expect_clean(1, 64, [&] { kernel(true); });
  expect_fault("", 1, 64, [&] { kernel(false); });
  expect_fault("is used with", 1, 96, [] { ptx::sync_named(1, ptx::thread_index() < 32 ? 96 : 64); });
  expect_fault("must be 1 to 15", 1, 64, [] { ptx::sync_named(16, 64); });
}

TEST(Detectors, divergence_and_missing_lanes) {
  expect_fault("divergence", 1, 32, [] { ptx::lane_index() < 5 ? void(ptx::any(true)) : ptx::sync_warp(); });
  expect_fault("deadlock", 1, 32, [] {
    if (ptx::lane_index() < 31) ptx::any(true);
  });
  expect_fault("waits at the block barrier", 3, 64, [] {
    if (ptx::thread_index() < 32) ptx::sync_block();
  });
}

TEST(Detectors, a_launch_that_does_not_end) {
  const emulator::Config config{.turns = 1000};
  try {
    emulator::launch(
        1, 64, 0,
        [] {
          for (;;) ptx::sync_block();
        },
        config);
    ADD_FAILURE() << "no fault";
  } catch (const emulator::Fault& f) {
    EXPECT_NE(std::string(f.what()).find("no end: warps have taken 1000 turns"), std::string::npos) << f.what();
  }
}

TEST(Detectors, a_lane_that_waited_comes_to_a_barrier_with_its_warp) {
  u32 flag = 1;
  const Region region("flag", &flag, 4, Access::accumulate);
  enum Waits { none, plain, for_flag, fence, for_mbarrier };
  enum Meets { never, at_warp_barrier, at_vote };
  const auto kernel = [&](Waits waits, bool all, Meets meets, bool named) {
    const i32 t = ptx::thread_index();
    if (t == 0) ptx::mbarrier_init(at(0), 1);
    ptx::sync_block();
    if (t == 1) ptx::mbarrier_arrive(at(0));
    if (t == 32 || (all && t > 32)) switch (waits) {
        case plain: ptx::add_relaxed_32(&flag, 0); break;
        case for_flag: ptx::wait_acquire_32(&flag, 1); break;
        case fence: ptx::fence_device(); break;
        case for_mbarrier: ptx::mbarrier_wait(at(0), 0); break;
        case none: break;
      }
    if (meets == at_warp_barrier) ptx::sync_warp();
    if (meets == at_vote) ptx::any(true);
    named ? ptx::sync_named(1, 64) : ptx::sync_block();
  };
  for (const bool named : {false, true}) {
    for (const Waits waits : {for_flag, fence, for_mbarrier}) {
      expect_fault("met by the warp in parts", 1, 64, [&] { kernel(waits, false, never, named); });
      expect_clean(1, 64, [&] { kernel(waits, true, never, named); });
      expect_clean(1, 64, [&] { kernel(waits, false, at_warp_barrier, named); });
      expect_clean(1, 64, [&] { kernel(waits, false, at_vote, named); });
    }
    for (const Waits waits : {none, plain}) expect_clean(1, 64, [&] { kernel(waits, false, never, named); });
  }
  expect_fault("met by the warp in parts", 1, 64, [&] {  // who only arrives
    if (ptx::thread_index() == 5) ptx::fence_device();
    ptx::thread_index() < 32 ? ptx::arrive_named(1, 64) : ptx::sync_named(1, 64);
  });
}

TEST(Detectors, barriers_are_for_whole_warps) {
  expect_fault("only a part of warp", 1, 64, [] {
    if (ptx::lane_index() < 16) ptx::sync_named(1, 32);
  });
  expect_fault("comes again", 1, 32, [] {
    if (ptx::lane_index() == 0) ptx::arrive_named(1, 32), ptx::arrive_named(1, 32);
  });
  expect_fault("only a part of it has arrived", 1, 64, [] {
    if (ptx::thread_index() == 0) ptx::arrive_named(1, 64);
    ptx::sync_warp();
  });
  expect_fault("the block ends with 32 of 64 threads at named barrier 1", 1, 64, [] {
    if (ptx::thread_index() < 32) ptx::arrive_named(1, 64);
  });
}

TEST(Detectors, cp_async_is_seen_after_its_wait_and_by_others_after_a_barrier) {
  std::vector<u16> data(64 * 8, 1);
  const Region region("data", data.data(), 64 * 16, Access::input);
  const auto kernel = [&](bool commit, bool wait, bool barrier) {
    const i32 t = ptx::thread_index();
    ptx::cp_async_16(at(16 * t), data.data() + 8 * t, t % 3 != 0);
    if (commit) ptx::cp_async_commit();
    if (wait) ptx::cp_async_wait<0>();
    if (barrier) ptx::sync_block();
    ptx::load_shared_128(at(16 * (t ^ 32)));
  };
  expect_clean(1, 64, [&] { kernel(true, true, true); });
  expect_fault("not waited for", 1, 64, [&] { kernel(false, true, true); });
  expect_fault("not waited for", 1, 64, [&] { kernel(true, false, true); });
  expect_fault("", 1, 64, [&] { kernel(true, true, false); });
  expect_fault("ends without having waited", 1, 32, [&] {
    ptx::cp_async_16(at(16 * ptx::lane_index()), data.data(), true);
    ptx::cp_async_commit();
  });
}

// One warp fills a stage again and again by bulk copies, the other reads it.
void bulk_ring(const TensorMap& map, bool fence_init, bool wait_empty, bool wait_full, bool write, bool fence) {
  const i32 t = ptx::thread_index();
  const ptx::SharedAddress full = at(4096), empty = at(4104);
  if (t == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init(empty, 1);
    if (fence_init) ptx::mbarrier_fence_init();
  }
  ptx::sync_block();
  for (u32 round = 0; round < 4; ++round)
    if (t == 0) {
      if (wait_empty) ptx::mbarrier_wait(empty, (round + 1) & 1);
      ptx::mbarrier_arrive_expect(full, 1024);
      ptx::bulk_tensor_4d(at(0), map, 0, i32(round) * 8, 0, 0, full);
    } else if (t >= 32) {
      if (wait_full) ptx::mbarrier_wait(full, round & 1);
      for (i32 i = 0; i < 8; ++i) ptx::load_shared_32(at(128 * i + 4 * (t - 32)));
      if (write) ptx::store_shared_32(at(4 * (t - 32)), 0);
      if (fence) ptx::fence_proxy_async();
      ptx::sync_warp();
      ptx::mbarrier_arrive_if(empty, t == 32);
    }
}

TEST(Detectors, bulk_copies) {
  std::vector<u16> data(32 * 64, 1);
  const StridedTensor tensor{data.data(), 32 * 64, 64, 64};
  const Region region("data", tensor, 2, 1, 32, 1, 64, Access::input);
  const TensorMap map = emulator::make_tensor_map(tensor, 2, 64, 32, 1, 1, 64, 8);
  expect_clean(2, 64, [&] { bulk_ring(map, true, true, true, false, false); });
  expect_clean(2, 64, [&] { bulk_ring(map, true, true, true, true, true); });
  expect_fault("no fence makes the init", 2, 64, [&] { bulk_ring(map, false, true, true, false, false); });
  expect_fault("", 2, 64, [&] { bulk_ring(map, true, false, true, false, false); });
  expect_fault("", 2, 64, [&] { bulk_ring(map, true, true, false, false, false); });
  expect_fault("nobody waited", 1, 32, [&] {
    if (ptx::thread_index() != 0) return;
    ptx::mbarrier_init(at(4096), 1);
    ptx::mbarrier_fence_init();
    ptx::mbarrier_arrive_expect(at(4096), 1024);
    ptx::bulk_tensor_4d(at(0), map, 0, 0, 0, 0, at(4096));
  });
  expect_fault("no proxy fence", 2, 64, [&] { bulk_ring(map, true, true, true, true, false); });
}

TEST(Detectors, mbarriers) {
  expect_fault("no mbarrier was initialised", 1, 32, [] { ptx::mbarrier_arrive(at(0)); });
  expect_fault("no barrier orders its init", 1, 64, [] {
    if (ptx::thread_index() == 0) ptx::mbarrier_init(at(0), 64);
    ptx::sync_warp();
    ptx::shuffle_xor(0u, 1);
    if (ptx::thread_index() >= 32) ptx::sync_named(1, 32), ptx::sync_named(1, 32);
    ptx::mbarrier_arrive(at(0));
  });
  expect_fault("more arrivals", 1, 32, [] {
    if (ptx::thread_index() == 0) ptx::mbarrier_init(at(0), 16);
    ptx::sync_block();
    ptx::mbarrier_arrive_expect(at(0), 16);
  });
  expect_fault("nobody waited for the phase before", 1, 32, [] {
    if (ptx::thread_index() == 0) ptx::mbarrier_init(at(0), 1);
    ptx::sync_block();
    if (ptx::thread_index() == 0) ptx::mbarrier_arrive(at(0)), ptx::mbarrier_arrive(at(0));
  });
  expect_fault("deadlock", 1, 32, [] {
    if (ptx::thread_index() == 0) ptx::mbarrier_init(at(0), 33);
    ptx::sync_block();
    ptx::mbarrier_arrive(at(0));
    ptx::mbarrier_wait(at(0), 0);
  });
}

TEST(Detectors, global_extents) {
  std::vector<u16> data(8 * 2 * 24);
  const StridedTensor tensor{data.data(), 0, 2 * 24, 24};  // rows of two heads of 16 elements, 8 between
  const Region region("x", tensor, 2, 1, 8, 2, 16, Access::input);
  expect_clean(1, 32, [&] {
    ptx::load_global_128(data.data() + ptx::lane_index() / 4 * 48 + ptx::lane_index() % 4 / 2 * 24 + ptx::lane_index() % 2 * 8);
  });
  expect_fault("between or past", 1, 32, [&] { ptx::load_global_128(data.data() + 16); });
  expect_fault("out of range", 1, 32, [&] { ptx::load_global_32(data.data() + data.size()); });
  expect_fault("an input", 1, 32, [&] { ptx::store_global_16(data.data(), 0); });
  expect_fault("misaligned", 1, 32, [&] { ptx::load_global_32(data.data() + 1); });
}

#ifdef __SANITIZE_THREAD__
TEST(Detectors, plain_accesses_to_global_memory) {
  std::vector<float> x(64), y(64);
  const Region rx("x", x.data(), 256, Access::accumulate);
  expect_clean(1, 32, [&] { y[ptx::lane_index()] = 1; });
  expect_fault("by plain C++", 1, 32, [&] { x[ptx::lane_index()] = 1; });
  expect_fault("by plain C++", 1, 32, [&] { y[ptx::lane_index()] = x[3]; });
}
#endif

TEST(Detectors, global_initialisation_and_races) {
  std::vector<float> x(64);
  for (const auto& config : all_modes()) {
    const Region region("x", x.data(), 256, Access::output);
    EXPECT_EQ(region.unwritten(), 256);
    EXPECT_THROW(emulator::launch(
                     1, 32, 0, [&] { ptx::add_global_float(&x[ptx::lane_index()], 1); }, config),
                 emulator::Fault);
    emulator::launch(
        1, 32, 0, [&] { ptx::store_global_float(&x[ptx::lane_index()], 0); }, config);
    EXPECT_EQ(region.first_unwritten(), 128);
    emulator::launch(
        4, 32, 0, [&] { ptx::add_global_float(&x[0], 1); }, config);
    EXPECT_EQ(x[0], 128);
  }
  const Region region("x", x.data(), 256, Access::accumulate);
  expect_fault("race in global memory", 2, 32, [&] { ptx::store_global_float(&x[ptx::lane_index()], 0); });
  expect_fault("race in global memory", 2, 32, [&] {
    ptx::add_global_float(&x[0], 0);
    ptx::load_global_float(&x[0]);
  });
  expect_fault("race in global memory", 1, 64, [&] {
    ptx::store_global_float(&x[ptx::thread_index()], 0);
    ptx::load_global_float(&x[ptx::thread_index() ^ 32]);
  });
  expect_clean(1, 64, [&] {
    ptx::store_global_float(&x[ptx::thread_index()], 0);
    ptx::sync_block();
    ptx::load_global_float(&x[ptx::thread_index() ^ 32]);
  });
}

}  // namespace
}  // namespace speedlight
