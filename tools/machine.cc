#include "machine.h"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include "config/params.h"
#include "cpu/attention.h"
#include "cpu/compare.h"
#include "gpu/context.h"
#include "gpu/driver.h"
#include "problem/error.h"
#include "store/store.h"
#include "store/tuned_file.h"

namespace speedlight::cli {
namespace {

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

StridedTensor strided(const void* data, const TensorLayout& t) { return {const_cast<void*>(data), t.batch, t.row, t.head}; }

// Code stays loaded until the process ends.
CUfunction load(const KernelConfig& config, int target) {
  static std::map<std::string, CUfunction> loaded;
  CUfunction& function = loaded[to_text(config)];
  if (function) return function;
  const gpu::Driver& driver = gpu::driver();
  const auto code = find_code(config, target);
  CUlibrary library;
  CUkernel kernel;
  driver.check(driver.cuLibraryLoadData(&library, code->cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
  driver.check(driver.cuLibraryGetKernel(&kernel, library, kernel_symbol(config).c_str()), "cuLibraryGetKernel");
  driver.check(driver.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
  return function;
}

}  // namespace

struct Machine::Events {
  explicit Events(int ordinal) : driver(gpu::driver()), guard(driver, ordinal) {
    driver.check(driver.cuEventCreate(&start, CU_EVENT_DEFAULT), "cuEventCreate");
    driver.check(driver.cuEventCreate(&stop, CU_EVENT_DEFAULT), "cuEventCreate");
    // Its blocks go before those of the main queue, which is the legacy stream: blocks that are waiting there would hold it up otherwise.
    constexpr int highest = -5;  // the driver lowers it to what the device has
    driver.check(driver.cuStreamCreateWithPriority(&beside, CU_STREAM_NON_BLOCKING, highest), "cuStreamCreateWithPriority");
  }
  ~Events() {
    driver.cuEventDestroy(start);
    driver.cuEventDestroy(stop);
    driver.cuStreamDestroy(beside);
  }
  const gpu::Driver& driver;
  gpu::ContextGuard guard;  // the device's context is current as long as the machine lives
  CUevent start, stop;
  CUstream beside;
  CUstream stream(Queue queue) const { return queue == Queue::main ? nullptr : beside; }
};

Machine::Machine(const Target& target) : cuda_(use_cuda(target)), ordinal_(target.ordinal) {
  if (!cuda_) return;
  card_ = card_facts(target);
  events_ = std::make_unique<Events>(ordinal_);
}

Machine::~Machine() {
  for (void* block : blocks_) cuda_ ? void(events_->driver.cuMemFree(address(block))) : std::free(block);
}

std::string Machine::name() const {
  return cuda_ ? gpu::device_facts(ordinal_).name : fmt::format("CPU ({} threads)", std::thread::hardware_concurrency());
}

void* Machine::allocate(i64 bytes) {
  void* block = nullptr;
  if (cuda_) {
    CUdeviceptr pointer;
    events_->driver.check(events_->driver.cuMemAlloc(&pointer, size_t(std::max<i64>(bytes, 256))), "cuMemAlloc");
    block = reinterpret_cast<void*>(pointer);
  } else {
    block = std::aligned_alloc(256, size_t(round_up<i64>(std::max<i64>(bytes, 256), 256)));
    if (!block) throw Error(Status::out_of_memory, fmt::format("{} bytes", bytes));
  }
  blocks_.push_back(block);
  return block;
}

void* Machine::memory(i64 bytes) {
  if (bytes <= block_bytes_ && block_) return block_;
  if (block_) {
    cuda_ ? void(events_->driver.cuMemFree(address(block_))) : std::free(block_);
    std::erase(blocks_, block_);
  }
  block_bytes_ = std::max(bytes, 2 * block_bytes_);
  return block_ = allocate(block_bytes_);
}

void Machine::write(void* to, const void* from, i64 bytes) {
  if (!cuda_) return void(std::memcpy(to, from, size_t(bytes)));
  events_->driver.check(events_->driver.cuMemcpyHtoDAsync(address(to), from, size_t(bytes), nullptr), "cuMemcpyHtoDAsync");
  synchronize();
}

void Machine::read(void* to, const void* from, i64 bytes) {
  if (!cuda_) return void(std::memcpy(to, from, size_t(bytes)));
  events_->driver.check(events_->driver.cuMemcpyDtoHAsync(to, address(from), size_t(bytes), nullptr), "cuMemcpyDtoHAsync");
  synchronize();
}

void Machine::fill(void* to, u8 byte, i64 bytes) {
  if (bytes == 0) return;
  if (!cuda_) return void(std::memset(to, byte, size_t(bytes)));
  events_->driver.check(events_->driver.cuMemsetD8Async(address(to), byte, size_t(bytes), nullptr), "cuMemsetD8Async");
}

void Machine::copy(void* to, const void* from, i64 bytes, Queue queue) {
  if (!cuda_) return void(std::memcpy(to, from, size_t(bytes)));
  events_->driver.check(events_->driver.cuMemcpyDtoDAsync(address(to), address(from), size_t(bytes), events_->stream(queue)),
                        "cuMemcpyDtoDAsync");
}

Plan Machine::plan(const Problem& problem, Pass pass) const {
  return pass == Pass::forward ? plan_forward(problem, card_, nullptr, tuned_table())
                               : plan_backward(problem, card_, nullptr, tuned_table());
}

i64 Machine::l2_bytes() const {
  const gpu::Driver& driver = events_->driver;
  CUdevice device;
  int bytes = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal_), "cuDeviceGet");
  driver.check(driver.cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device), "cuDeviceGetAttribute");
  return bytes;
}

void Machine::synchronize(Queue queue) {
  if (cuda_) events_->driver.check(events_->driver.cuStreamSynchronize(events_->stream(queue)), "cuStreamSynchronize");
}

i64 Machine::workspace_bytes(const Problem& problem, Pass pass) const {
  if (!cuda_) return 0;
  return plan(problem, pass).workspace.total;
}

void Machine::run(const Problem& problem, Pass pass, const Pointers& pointers) {
  if (!cuda_) return pass == Pass::forward ? cpu::forward(problem, pointers) : cpu::backward(problem, pointers);
  gpu::launch(plan(problem, pass), pointers, ordinal_, nullptr);
  synchronize();
}

double Machine::time(const std::function<void()>& enqueue, int count) {
  if (!cuda_) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) enqueue();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / count;
  }
  const gpu::Driver& driver = events_->driver;
  driver.check(driver.cuEventRecord(events_->start, nullptr), "cuEventRecord");
  for (int i = 0; i < count; ++i) enqueue();
  driver.check(driver.cuEventRecord(events_->stop, nullptr), "cuEventRecord");
  synchronize();
  float ms = 0;
  driver.check(driver.cuEventElapsedTime(&ms, events_->start, events_->stop), "cuEventElapsedTime");
  return double(ms) / count;
}

std::function<void()> Machine::launcher(const KernelConfig& config, u32 grid, const void* params, Queue queue) {
  const CUfunction function = load(config, gpu::device_facts(ordinal_).target);
  const unsigned block = unsigned(threads(config)), shared = unsigned(shared_bytes(config));
  return [=, stream = events_->stream(queue), &driver = events_->driver] {
    void* arguments[] = {const_cast<void*>(params)};
    driver.check(driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, arguments, nullptr), "cuLaunchKernel");
  };
}

reference::Values Machine::reference(const Problem& p, const Pointers& host, const Pointers& device, bool backward,
                                     reference::Arithmetic arithmetic) {
  if (!cuda_) return reference::compute(p, host, backward, arithmetic);
  const i64 queries = p.batch * p.seqlen_q * p.heads_q, keys = p.batch * p.seqlen_k * p.heads_kv;
  reference::Values values;
  const std::pair<std::vector<double>*, i64> wanted[] = {{&values.out, queries * p.value_dim},  {&values.lse, queries},
                                                         {&values.dq, queries * p.head_dim},    {&values.dk, keys * p.head_dim},
                                                         {&values.dv, keys * p.value_dim},      {&values.bound_dq, queries * p.head_dim},
                                                         {&values.bound_dk, keys * p.head_dim}, {&values.bound_dv, keys * p.value_dim}};
  i64 total = queries;  // delta first
  for (const auto& [vector, count] : wanted) total += count;
  static void* scratch = nullptr;
  static i64 scratch_doubles = 0;
  if (total > scratch_doubles) scratch = allocate((scratch_doubles = 2 * total) * 8);
  double* at = static_cast<double*>(scratch);
  double* places[8];
  at += queries;
  for (int i = 0; i < 8; ++i) places[i] = at, at += wanted[i].second;
  ReferenceParams params{};
  params.q = strided(device.q, p.q), params.k = strided(device.k, p.k), params.v = strided(device.v, p.v);
  if (backward) params.dout = strided(device.dout, p.dout), params.dlse = p.has_dlse ? device.dlse : nullptr;
  params.out = places[0], params.lse = places[1], params.delta = static_cast<double*>(scratch), params.dq = places[2],
  params.dk = places[3], params.dv = places[4];
  params.bound_dq = places[5], params.bound_dk = places[6], params.bound_dv = places[7];
  params.shape = {i32(p.batch), i32(p.heads_q), i32(p.heads_kv), i32(p.seqlen_q), i32(p.seqlen_k)};
  params.window = p.window, params.head_dim = i32(p.head_dim), params.scale = double(p.scale),
  params.plain = arithmetic == reference::Arithmetic::plain;
  params.out_fp32 = p.out.dtype == DType::fp32, params.dq_fp32 = p.dq.dtype == DType::fp32, params.dk_fp32 = p.dk.dtype == DType::fp32,
  params.dv_fp32 = p.dv.dtype == DType::fp32;
  ReferenceConfig config{{.dtype = p.dtype, .head_dim = u16(p.head_dim), .value_dim = u16(p.value_dim)}, false};
  if (const i64 blocks = ceil_div<i64>(queries, config.block_rows()); blocks > 0) launcher(config, u32(blocks), &params)();
  config.backward = true;
  if (const i64 blocks = ceil_div<i64>(queries + keys, config.block_rows()); backward && blocks > 0)
    launcher(config, u32(blocks), &params)();
  for (int i = 0; i < (backward ? 8 : 2); ++i) {
    wanted[i].first->resize(size_t(wanted[i].second));
    if (wanted[i].second > 0) read(wanted[i].first->data(), places[i], wanted[i].second * 8);
  }
  return values;
}

}  // namespace speedlight::cli
