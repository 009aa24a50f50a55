// Launching on a real GPU: results, capture, streams, contexts, errors, host time. Skipped where there is no driver.
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>
#include "cpu/element.h"
#include "cpu/reference.h"
#include "gpu/kernels.h"
#include "store/bundle.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/error_of.h"

namespace speedlight::gpu {
namespace {

// A small problem, its data on the host and on device 0, and its float64 results.
struct Small {
  Problem problem;
  std::vector<u16> q, k, v, dout;
  reference::Values truth;
  std::unique_ptr<DeviceMemory> dq_in, dk_in, dv_in, ddout_in, out, lse, dq, dk, dv, workspace;

  explicit Small(DType dtype = DType::bf16, i64 dim = 64, i64 batch = 1, i64 seqlen = 130) {
    Problem& p = problem;
    p.batch = batch, p.heads_q = 2, p.heads_kv = 1, p.seqlen_q = seqlen - 30, p.seqlen_k = seqlen, p.head_dim = p.value_dim = dim;
    p.dtype = dtype, p.scale = 1 / std::sqrt(float(dim)), p.window = {Window::unlimited, 0};
    p.q = p.out = p.dout = p.dq = contiguous(dtype, p.seqlen_q, 2, dim);
    p.k = p.v = p.dk = p.dv = contiguous(dtype, p.seqlen_k, 1, dim);
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<u16>& x, i64 count) {
      x.resize(std::size_t(count));
      for (i64 i = 0; i < count; ++i) write_element(x.data(), i, dtype, normal(random));
    };
    const i64 queries = batch * p.seqlen_q * 2 * dim, keys = batch * p.seqlen_k * dim;
    fill(q, queries), fill(dout, queries), fill(k, keys), fill(v, keys);
    const auto upload = [](const std::vector<u16>& x) { return std::make_unique<DeviceMemory>(x); };
    dq_in = upload(q), dk_in = upload(k), dv_in = upload(v), ddout_in = upload(dout);
    const auto room = [](i64 bytes) { return std::make_unique<DeviceMemory>(std::size_t(bytes)); };
    out = room(queries * 2), dq = room(queries * 2), dk = room(keys * 2), dv = room(keys * 2), lse = room(batch * p.seqlen_q * 2 * 4);
  }
  void solve() {
    Pointers x;
    x.q = q.data(), x.k = k.data(), x.v = v.data(), x.dout = dout.data();
    truth = reference::compute(problem, x, true, reference::Arithmetic::float64);
  }
  Plan plan(Pass pass, const DeviceFacts& card) {
    Plan made = pass == Pass::forward ? plan_forward(problem, card) : plan_backward(problem, card);
    if (made.workspace.total > 0) workspace = std::make_unique<DeviceMemory>(std::size_t(made.workspace.total));
    return made;
  }
  Pointers pointers(const Plan& plan) const {
    Pointers x;
    x.q = dq_in->get(), x.k = dk_in->get(), x.v = dv_in->get(), x.out = out->get(), x.lse = static_cast<float*>(lse->get());
    if (plan.pass == Pass::backward) x.dout = ddout_in->get(), x.dq = dq->get(), x.dk = dk->get(), x.dv = dv->get();
    x.workspace = workspace ? workspace->get() : nullptr, x.workspace_bytes = plan.workspace.total;
    return x;
  }
  void expect_near(const DeviceMemory& is, const std::vector<double>& should, const char* name) const {
    const auto values = is.read<u16>();
    ASSERT_EQ(values.size(), should.size()) << name;
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < should.size(); ++i) {
      const double difference = std::abs(double(read_element(values.data(), i64(i), problem.dtype)) - should[i]);
      worst = std::isnan(difference) ? 1e30 : std::max(worst, difference), largest = std::max(largest, std::abs(should[i]));
    }
    EXPECT_LE(worst, 0.02 * largest) << name;
  }
  void expect_forward() {
    if (truth.out.empty()) solve();
    expect_near(*out, truth.out, "out");
  }
  void expect_backward() {
    if (truth.out.empty()) solve();
    expect_near(*dq, truth.dq, "dq"), expect_near(*dk, truth.dk, "dk"), expect_near(*dv, truth.dv, "dv");
  }
};

class Launch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << driver_facts().message;
    card = device_facts(0);
  }
  DeviceFacts card;
};

TEST_F(Launch, ForwardThenBackwardIsRight) {
  for (const i64 dim : {64, 128}) {
    Small s(DType::bf16, dim);
    const Plan forward = s.plan(Pass::forward, card);
    launch(forward, s.pointers(forward), 0, nullptr);
    s.expect_forward();
    const Plan backward = s.plan(Pass::backward, card);
    launch(backward, s.pointers(backward), 0, nullptr);
    s.expect_backward();
  }
}

// Roles of the split schedule once waited for one another for ever where no dQ product kept them in step. batch_invariant: so few heads would be
// planned with small tiles, which are not split.
TEST_F(Launch, LongWalksWithoutDq) {
  Small s(DType::bf16, 128, 1, 1130);
  s.problem.want_dq = false;
  s.problem.determinism = Determinism::batch_invariant;
  s.solve();
  const Plan forward = s.plan(Pass::forward, card);
  launch(forward, s.pointers(forward), 0, nullptr);
  const Plan backward = s.plan(Pass::backward, card);
  if (card.target >= 90) {
    const auto split = [](const PlannedLaunch& l) { return to_text(l.config).find(".split.") != std::string::npos; };
    ASSERT_TRUE(std::ranges::any_of(backward.launches, split)) << "does not run what it is for";
  }
  Pointers x = s.pointers(backward);
  x.dq = nullptr;
  for (int i = 0; i < 20; ++i) launch(backward, x, 0, nullptr);
  s.expect_near(*s.dk, s.truth.dk, "dk"), s.expect_near(*s.dv, s.truth.dv, "dv");
}

TEST_F(Launch, TwinOfAConsumerCardIsRight) {
  const DeviceFacts twin = *find_card("rtx5090");
  if (card.target < 90) GTEST_SKIP() << "sm_120's kernels need sm_90 or newer";
  Small s(DType::bf16, 128);
  const Plan forward = s.plan(Pass::forward, twin);
  prepare(forward, 0);
  const LoadedKernel& loaded = find_prepared(forward, 0)->launches[0];
  EXPECT_GE(loaded.shared, u32(forward.launches[0].shared));
  const ContextGuard guard(driver(), 0);
  CUfunction function;
  int blocks = 0;
  driver().check(driver().cuKernelGetFunction(&function, loaded.kernel), "cuKernelGetFunction");
  driver().check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, forward.launches[0].threads, loaded.shared),
                 "occupancy");
  EXPECT_LE(blocks, int(twin.shared_sm / (forward.launches[0].shared + twin.shared_reserved)));
  launch(forward, s.pointers(forward), 0, nullptr);
  s.expect_forward();
  const Plan backward = s.plan(Pass::backward, twin);
  launch(backward, s.pointers(backward), 0, nullptr);
  s.expect_backward();
}

// In a process of its own, where neither NVRTC nor a cache is found, the kernels of sm_80 run here from PTX: what a GPU of an architecture
// that no code ships for gets.
TEST_F(Launch, PtxOfSm80IsRight) {
  if (card.target < 90) GTEST_SKIP() << "the machine code of these kernels ships";
  if (store::embedded_bundle().empty()) GTEST_SKIP() << "built without a bundle";
  const auto run = [this] {
    setenv("SPEEDLIGHT_NVRTC", "/no/such/libnvrtc.so", 1);
    setenv("SPEEDLIGHT_CACHE_DIR", "/no/such/cache", 1);
    DeviceFacts other = card;
    other.target = 80;
    for (const i64 dim : {64, 128}) {
      Small s(DType::bf16, dim);
      const Plan forward = s.plan(Pass::forward, other);
      launch(forward, s.pointers(forward), 0, nullptr);
      s.expect_forward();
      const Plan backward = s.plan(Pass::backward, other);
      launch(backward, s.pointers(backward), 0, nullptr);
      s.expect_backward();
      int from_ptx = 0;
      for (const Plan& plan : {forward, backward})
        for (const PlannedLaunch& l : plan.launches)
          from_ptx += (l.step == Step::forward || l.step == Step::backward) && find_code(l.config, card.target)->is_ptx();
      EXPECT_EQ(from_ptx, 2);
    }
    exit(testing::Test::HasFailure() ? 1 : 0);
  };
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a fresh process
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(Launch, ColdLaunchUnderCaptureIsRefusedAndTheCaptureLives) {
  Small s(DType::fp16, 128);  // a kernel that no other test loads
  const Plan forward = s.plan(Pass::forward, card);
  const TestStream stream;
  const Driver& d = driver();
  CUgraph graph;
  {
    const ContextGuard guard(d, 0, stream.get());
    d.check(d.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    const Error error = error_of([&] { launch(forward, s.pointers(forward), 0, stream.get()); });
    EXPECT_EQ(error.status(), Status::not_prepared) << error.what();
    prepare(forward, 0);  // allowed all the same
    d.check(d.cuStreamEndCapture(stream.get(), &graph), "cuStreamEndCapture");
    d.cuGraphDestroy(graph);
  }
  launch(forward, s.pointers(forward), 0, stream.get());
  stream.wait();
  s.expect_forward();
}

TEST_F(Launch, CapturedPassesReplay) {
  Small s;
  const Plan forward = s.plan(Pass::forward, card), backward = s.plan(Pass::backward, card);
  prepare(forward, 0), prepare(backward, 0);
  const TestStream stream;
  const Driver& d = driver();
  const ContextGuard guard(d, 0, stream.get());
  CUgraph graph;
  CUgraphExec exec;
  d.check(d.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  launch(forward, s.pointers(forward), 0, stream.get());
  launch(backward, s.pointers(backward), 0, stream.get());
  d.check(d.cuStreamEndCapture(stream.get(), &graph), "cuStreamEndCapture");
  d.check(d.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  for (int replay = 0; replay < 2; ++replay) {
    for (DeviceMemory* m : {s.out.get(), s.dq.get(), s.dk.get(), s.dv.get(), s.workspace.get()}) m->fill(0xff);
    d.check(d.cuGraphLaunch(exec, stream.get()), "cuGraphLaunch");
    stream.wait();
    s.expect_forward(), s.expect_backward();
  }
  d.cuGraphExecDestroy(exec);
  d.cuGraphDestroy(graph);
}

TEST_F(Launch, TwoStreamsAndThreads) {
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Small>> cases;
  for (int i = 0; i < 4; ++i) cases.push_back(std::make_unique<Small>());
  for (auto& s : cases)
    threads.emplace_back([&s, this] {
      const TestStream stream;
      const Plan forward = s->plan(Pass::forward, card), backward = s->plan(Pass::backward, card);
      for (int i = 0; i < 20; ++i) {
        launch(forward, s->pointers(forward), 0, stream.get());
        launch(backward, s->pointers(backward), 0, stream.get());
      }
      stream.wait();
    });
  for (auto& thread : threads) thread.join();
  for (auto& s : cases) s->expect_forward(), s->expect_backward();
}

TEST_F(Launch, ForeignContextIsUsedAndStaysCurrent) {
  const Driver& d = driver();
  CUcontext foreign, now;
  d.check(d.cuCtxCreate(&foreign, 0, 0), "cuCtxCreate");  // and makes it current
  {
    Small s;
    const Plan forward = s.plan(Pass::forward, card);
    launch(forward, s.pointers(forward), 0, nullptr);
    d.check(d.cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    EXPECT_EQ(now, foreign);
    s.expect_forward();
    // A stream of the foreign context, called for while no context is current.
    CUstream stream;
    d.check(d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    s.out->fill(0xff);
    d.check(d.cuCtxPopCurrent(&now), "cuCtxPopCurrent");
    launch(forward, s.pointers(forward), 0, stream);
    d.check(d.cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    EXPECT_EQ(now, nullptr);
    d.check(d.cuCtxPushCurrent(foreign), "cuCtxPushCurrent");
    d.check(d.cuStreamSynchronize(stream), "cuStreamSynchronize");
    s.expect_forward();
    d.cuStreamDestroy(stream);
  }
  d.check(d.cuCtxDestroy(foreign), "cuCtxDestroy");
}

TEST_F(Launch, RefusedCallsLeaveOutputsAndTheNextCallAlone) {
  Small s;
  const Plan backward = s.plan(Pass::backward, card);
  Pointers x = s.pointers(backward);
  --x.workspace_bytes;
  EXPECT_EQ(error_of([&] { launch(backward, x, 0, nullptr); }).status(), Status::invalid_argument);
  x = s.pointers(backward);
  x.dk = nullptr;
  EXPECT_EQ(error_of([&] { launch(backward, x, 0, nullptr); }).status(), Status::invalid_argument);
  EXPECT_EQ(error_of([&] { launch(backward, s.pointers(backward), 99, nullptr); }).status(), Status::unknown_device);
  for (const u16 bits : s.dq->read<u16>()) ASSERT_EQ(bits, 0xffff);
  const Plan forward = plan_forward(s.problem, card);
  launch(forward, s.pointers(forward), 0, nullptr);
  launch(backward, s.pointers(backward), 0, nullptr);
  s.expect_backward();
}

TEST_F(Launch, StreamOrderedMemory) {
  const TestStream stream;
  void* first = allocate(1 << 20, 0, stream.get());
  ASSERT_NE(first, nullptr);
  release(first, 0, stream.get());
  void* empty = allocate(0, 0, nullptr);
  release(empty, 0, nullptr);
  const Error error = error_of([&] { allocate(i64(1) << 50, 0, stream.get()); });
  EXPECT_EQ(error.status(), Status::out_of_memory) << error.what();
  void* again = allocate(1 << 20, 0, stream.get());
  release(again, 0, stream.get());
  stream.wait();
}

TEST_F(Launch, SeveralDevices) {
  if (driver_facts().devices < 2) GTEST_SKIP() << "one device";
  const Small s;
  const Plan forward = plan_forward(s.problem, card);
  const TestStream other(1);
  EXPECT_EQ(error_of([&] { launch(forward, s.pointers(forward), 0, other.get()); }).status(), Status::invalid_argument);
  const DeviceMemory q(s.q, 1), k(s.k, 1), v(s.v, 1), out(s.q.size() * 2, 1), lse(std::size_t(s.problem.seqlen_q) * 8, 1);
  Pointers x;
  x.q = q.get(), x.k = k.get(), x.v = v.get(), x.out = out.get(), x.lse = static_cast<float*>(lse.get());
  const Plan there = plan_forward(s.problem, device_facts(1));
  launch(there, x, 1, other.get());
  launch(there, x, 1, nullptr);
  other.wait();
  Small t;
  t.solve();
  t.expect_near(out, t.truth.out, "out on device 1");
}

// Mean microseconds of a call, of the best of 20 blocks of 500.
template <class Call>
double host_microseconds(Call call) {
  double best = 1e30;
  for (int block = 0; block < 20; ++block) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 500; ++i) call();
    const auto stop = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::micro>(stop - start).count() / 500);
    driver().check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
  }
  return best;
}

TEST_F(Launch, HostTime) {
  Small s(DType::bf16, 64, 1, 40);
  const Plan forward = s.plan(Pass::forward, card), backward = s.plan(Pass::backward, card);
  const Pointers fx = s.pointers(forward), bx = s.pointers(backward);
  const TestStream stream;
  const Driver& d = driver();
  const ContextGuard guard(d, 0, stream.get());
  prepare(forward, 0), prepare(backward, 0);
  PlannedLaunch empty{};
  empty.config = PackConfig{2}, empty.threads = 32;
  Plan bare;
  bare.card = card, bare.launches.push_back(empty);
  prepare(bare, 0);
  const auto function = reinterpret_cast<CUfunction>(find_prepared(bare, 0)->launches[0].kernel);
  PackParams nothing{};
  void* arguments[] = {&nothing};
  const double base = host_microseconds(
      [&] { d.check(d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream.get(), arguments, nullptr), "cuLaunchKernel"); });
  const double f = host_microseconds([&] { launch(forward, fx, 0, stream.get()); });
  const double b = host_microseconds([&] { launch(backward, bx, 0, stream.get()); });
  std::printf("host time: empty launch %.2f us, forward %.2f us, backward %.2f us in %zu launches\n", base, f, b, backward.launches.size());
  EXPECT_LE(f, base + 1.5);
  EXPECT_LE(b, double(backward.launches.size()) * base + 3);
}

}  // namespace
}  // namespace speedlight::gpu
