// The host side of launching against a fake driver: floors, errors, contexts, capture, what a warm launch costs. No GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include "gpu/device.h"
#include "gpu/driver.h"
#include "gpu/kernels.h"
#include "store/bundle.h"
#include "tests/gpu/fake/fake_cuda.h"

namespace {
std::atomic<long> allocations{0};
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace speedlight::gpu {
namespace {

// The driver is opened once a process, so each machine gets a process: the child runs `body` and prints; its output comes back.
std::string in_child(const std::function<std::string(FakeCuda&)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  const pid_t child = fork();
  if (child == 0) {
    void* library = dlopen(FAKE_CUDA, RTLD_NOW);  // its soname is libcuda.so.1, so that is what the library finds next
    std::string text = "no fake driver";
    if (library) {
      auto* fake = reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda"))();
      try {
        text = body(*fake);
      } catch (const Error& error) {
        text = std::to_string(int(error.status())) + ": " + error.what();
      }
    }
    if (write(ends[1], text.data(), text.size()) < 0) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) text.append(part, std::size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : text + " (the child crashed)";
}

Problem problem(i64 gap = 0) {
  Problem p;
  p.batch = 2, p.heads_q = 4, p.heads_kv = 2, p.seqlen_q = 100, p.seqlen_k = 300, p.head_dim = p.value_dim = 64;
  p.scale = 0.125f;
  p.q = p.out = contiguous(p.dtype, 100, 4, 64);
  p.k = p.v = contiguous(p.dtype, 300, 2, 64 + gap);
  return p;
}

Pointers pointers(const Plan& plan) {
  const auto at = [](u64 address) { return reinterpret_cast<void*>(address); };
  Pointers x;
  x.q = at(0x10000), x.k = at(0x20000), x.v = at(0x30000), x.out = at(0x40000), x.lse = static_cast<float*>(at(0x50000));
  x.workspace = at(0x60000), x.workspace_bytes = plan.workspace.total;
  return x;
}

Stream stream(int device) { return reinterpret_cast<Stream>(u64(0x2000 + device)); }  // as fake_stream()

std::string status_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::to_string(int(error.status()));
  }
  return "0";
}

// A plan whose code the store has or can make here; "" and no plan otherwise.
bool can_run(const Plan& plan) {
  try {
    prepare(plan, 0);
    return true;
  } catch (const Error& error) {
    if (error.status() == Status::no_compiler) return false;
    throw;
  }
}

#define EXPECT_CHILD(expected, ...)                      \
  do {                                                   \
    const std::string answer = in_child(__VA_ARGS__);    \
    if (answer == "no compiler") GTEST_SKIP() << answer; \
    EXPECT_EQ(answer, expected);                         \
  } while (false)
#define EXPECT_CHILD_SAYS(part, ...)                                         \
  do {                                                                       \
    const std::string answer = in_child(__VA_ARGS__);                        \
    if (answer == "no compiler") GTEST_SKIP() << answer;                     \
    EXPECT_NE(answer.find(part), std::string::npos) << "answer: " << answer; \
  } while (false)

TEST(FakeDriver, TooOldForEverything) {
  EXPECT_CHILD("4: the CUDA driver is too old: it supports CUDA 11.8, must be CUDA 12.0 (driver 525) or newer", [](FakeCuda& fake) {
    fake.version = 11080;
    return device_facts(0).name;
  });
}

TEST(FakeDriver, TooOldForBlackwellOnly) {
  const auto facts = [](int capability) {
    return [capability](FakeCuda& fake) {
      fake.version = 12040, fake.capability = capability;
      return device_facts(0).name;
    };
  };
  EXPECT_CHILD_SAYS("4: the CUDA driver is too old for Fake H200: it supports CUDA 12.4, must be CUDA 12.8 (driver 570) or newer",
                    facts(120));
  EXPECT_CHILD("Fake H200", facts(90));
}

TEST(FakeDriver, UnknownDevices) {
  EXPECT_CHILD_SAYS("5: device 0 (Fake H200) has compute capability 7.5: must be 8.0 or newer", [](FakeCuda& fake) {
    fake.capability = 75;
    return device_facts(0).name;
  });
  EXPECT_CHILD_SAYS("5: device is 2: must be at least 0 and below 2", [](FakeCuda&) { return device_facts(2).name; });
  EXPECT_CHILD_SAYS("4: the CUDA driver finds no device", [](FakeCuda& fake) {
    fake.devices = 0;
    return device_facts(0).name;
  });
}

TEST(FakeDriver, LaunchesWhatWasPlannedInTheDevicesContext) {
  EXPECT_CHILD("ok", [](FakeCuda& fake) -> std::string {
    const Plan plan = plan_forward(problem(), device_facts(1));
    if (!can_run(plan)) return "no compiler";
    launch(plan, pointers(plan), 1, nullptr);
    launch(plan, pointers(plan), 1, stream(1));
    CUcontext left = nullptr;
    driver().cuCtxGetCurrent(&left);
    if (left != nullptr) return "a context was left current";
    if (fake.launches.size() != 2 || fake.libraries != 1) return "launches or libraries";
    for (const FakeLaunch& l : fake.launches)
      if (l.kernel != kernel_symbol(plan.launches[0].config) || l.grid != plan.launches[0].grid || l.context != CUcontext(0x1001))
        return "launch";
    if (fake.launches[0].stream != nullptr || fake.launches[1].stream != stream(1)) return "stream";
    // Another device's context is current: it stays so.
    driver().cuCtxPushCurrent(CUcontext(0x1000));
    launch(plan, pointers(plan), 1, nullptr);
    driver().cuCtxGetCurrent(&left);
    if (left != CUcontext(0x1000) || fake.launches.back().context != CUcontext(0x1001)) return "context";
    return status_of([&] { launch(plan, pointers(plan), 0, stream(1)); }) == "1" && fake.launches.size() == 3 ? "ok" : "foreign stream";
  });
}

TEST(FakeDriver, ColdLaunchUnderCapture) {
  EXPECT_CHILD("ok", [](FakeCuda& fake) -> std::string {
    const Plan plan = plan_forward(problem(), device_facts(0));
    fake.capturing = true;
    if (status_of([&] { launch(plan, pointers(plan), 0, stream(0)); }) != "6" || !fake.launches.empty()) return "cold launch";
    if (!can_run(plan)) return "no compiler";
    launch(plan, pointers(plan), 0, stream(0));
    const Plan equal = plan_forward(problem(), device_facts(0));  // shares what the first one loaded
    launch(equal, pointers(equal), 0, stream(0));
    return fake.launches.size() == 2 ? "ok" : "warm launch";
  });
}

// An architecture that this build has no code for, on a machine without NVRTC: the kernels reach the driver as PTX.
Plan plan_for_another_architecture(FakeCuda& fake) {
  setenv("SPEEDLIGHT_NVRTC", "/no/such/libnvrtc.so", 1);
  setenv("SPEEDLIGHT_CACHE_DIR", "/no/such/cache", 1);
  fake.capability = 100;
  return plan_forward(problem(3), device_facts(0));  // packs k and v first
}

TEST(FakeDriver, OtherArchitecturesLoadPtx) {
  EXPECT_CHILD("2 launches of 2 libraries, 2 from PTX", [](FakeCuda& fake) -> std::string {
    const Plan plan = plan_for_another_architecture(fake);
    if (store::embedded_bundle().empty()) return "no compiler";
    launch(plan, pointers(plan), 0, nullptr);
    return std::to_string(fake.launches.size()) + " launches of " + std::to_string(fake.libraries) + " libraries, " +
           std::to_string(fake.from_ptx) + " from PTX";
  });
}

TEST(FakeDriver, OldDriversRefusePtxClearly) {
  EXPECT_CHILD_SAYS("(PTX of NVRTC 12.8: needs a driver of that CUDA version or newer)", [](FakeCuda& fake) -> std::string {
    fake.version = 12040;
    const Plan plan = plan_for_another_architecture(fake);
    if (store::embedded_bundle().empty()) return "no compiler";
    prepare(plan, 0);
    return "it ran";
  });
}

TEST(FakeDriver, PendingErrorIsNamed) {
  EXPECT_CHILD_SAYS("9: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (as the test asked): already pending when this call began",
                    [](FakeCuda& fake) -> std::string {
                      const Plan plan = plan_forward(problem(), device_facts(0));
                      if (!can_run(plan)) return "no compiler";
                      fake.launch_result = CUDA_ERROR_ILLEGAL_ADDRESS;
                      launch(plan, pointers(plan), 0, nullptr);
                      return "no error";
                    });
}

TEST(FakeDriver, WarmLaunchAllocatesNothing) {
  EXPECT_CHILD("0 allocations", [](FakeCuda& fake) -> std::string {
    const Plan plan = plan_forward(problem(3), device_facts(0));  // packs k and v first
    if (!can_run(plan)) return "no compiler";
    const Pointers x = pointers(plan);
    fake.launches.reserve(16), fake.maps.reserve(16);
    launch(plan, x, 0, stream(0));
    const long before = allocations;
    launch(plan, x, 0, stream(0));
    return std::to_string(allocations - before) + " allocations";
  });
}

TEST(FakeDriver, ThreadsShareOneLoad) {
  EXPECT_CHILD("1 libraries, 80 launches", [](FakeCuda& fake) -> std::string {
    const Plan plan = plan_forward(problem(), device_facts(0));
    std::atomic<bool> missing{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        if (!can_run(plan)) return void(missing = true);
        for (int i = 0; i < 10; ++i) launch(plan, pointers(plan), 0, stream(0));
      });
    for (auto& thread : threads) thread.join();
    if (missing) return "no compiler";
    return std::to_string(fake.libraries) + " libraries, " + std::to_string(fake.launches.size()) + " launches";
  });
}

TEST(FakeDriver, TwinHoldsNoMoreBlocksThanTheCard) {
  EXPECT_CHILD("ok", [](FakeCuda& fake) -> std::string {
    for (const char* name : {"rtx5090", "a100"}) {
      const DeviceFacts card = *find_card(name);
      const Plan plan = plan_forward(problem(), card);
      if (!can_run(plan)) return "no compiler";
      launch(plan, pointers(plan), 0, nullptr);
      const PlannedLaunch& planned = plan.launches[0];
      const FakeLaunch& l = fake.launches.back();
      if (l.shared < planned.shared) return "less shared memory than planned";
      int blocks = 0;
      driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, planned.threads, l.shared);
      if (blocks > int(card.shared_sm / (planned.shared + card.shared_reserved))) return std::string(name) + ": too many blocks";
      if (blocks < 1) return std::string(name) + ": no block";
    }
    return "ok";
  });
}

TEST(FakeDriver, OutOfMemory) {
  EXPECT_CHILD_SAYS("3: out of memory on device 1: 4398046511104 bytes were asked for", [](FakeCuda&) {
    release(allocate(100, 1, nullptr), 1, nullptr);
    allocate(i64(1) << 42, 1, nullptr);
    return std::string("allocated");
  });
}

}  // namespace
}  // namespace speedlight::gpu
