#include "gpu/buffer.h"
#include <utility>
#include "gpu/context.h"

namespace speedlight::gpu {
namespace {

CUdeviceptr address(void* data, i64 offset) { return reinterpret_cast<CUdeviceptr>(data) + CUdeviceptr(offset); }
CUstream stream_of(Stream stream) { return static_cast<CUstream>(stream); }
CUevent event_of(void* event) { return static_cast<CUevent>(event); }

}  // namespace

Buffer::Buffer(i64 bytes, int ordinal) : bytes_(bytes), ordinal_(ordinal) {
  if (bytes == 0) return;
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal);
  CUdeviceptr pointer = 0;
  const CUresult result = d.cuMemAlloc(&pointer, std::size_t(bytes));
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw Error(Status::out_of_memory, "out of memory on device " + std::to_string(ordinal) + ": " + std::to_string(bytes) + " bytes were asked for");
  d.check(result, "cuMemAlloc");
  data_ = reinterpret_cast<void*>(pointer);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_);
  d.cuMemFree(address(data_, 0));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), ordinal_(other.ordinal_) {}

void Buffer::upload(const void* from, i64 bytes, i64 offset) const {
  if (bytes == 0) return;
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_);
  d.check(d.cuMemcpyHtoDAsync(address(data_, offset), from, std::size_t(bytes), CU_STREAM_PER_THREAD), "cuMemcpyHtoDAsync");
  d.check(d.cuStreamSynchronize(CU_STREAM_PER_THREAD), "cuStreamSynchronize");
}

void Buffer::download(void* to, i64 bytes, i64 offset) const {
  if (bytes == 0) return;
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_);
  d.check(d.cuMemcpyDtoHAsync(to, address(data_, offset), std::size_t(bytes), CU_STREAM_PER_THREAD), "cuMemcpyDtoHAsync");
  d.check(d.cuStreamSynchronize(CU_STREAM_PER_THREAD), "cuStreamSynchronize");
}

void Buffer::fill(u8 byte) const {
  if (bytes_ == 0) return;
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_);
  d.check(d.cuMemsetD8Async(address(data_, 0), byte, std::size_t(bytes_), CU_STREAM_PER_THREAD), "cuMemsetD8Async");
  d.check(d.cuStreamSynchronize(CU_STREAM_PER_THREAD), "cuStreamSynchronize");
}

OwnedStream::OwnedStream(int ordinal) : ordinal_(ordinal) {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal);
  CUstream stream;
  d.check(d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  stream_ = stream;
}

OwnedStream::~OwnedStream() { driver().cuStreamDestroy(stream_of(stream_)); }

void OwnedStream::synchronize() const {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_, stream_of(stream_));
  d.check(d.cuStreamSynchronize(stream_of(stream_)), "cuStreamSynchronize");
}

StreamTimer::StreamTimer(int ordinal, Stream stream) : ordinal_(ordinal), stream_(stream) {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal, stream_of(stream));
  for (void** event : {&start_, &stop_}) {
    CUevent made;
    d.check(d.cuEventCreate(&made, CU_EVENT_DEFAULT), "cuEventCreate");
    *event = made;
  }
}

StreamTimer::~StreamTimer() {
  for (void* event : {start_, stop_}) driver().cuEventDestroy(event_of(event));
}

void StreamTimer::start() {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_, stream_of(stream_));
  d.check(d.cuEventRecord(event_of(start_), stream_of(stream_)), "cuEventRecord");
}

void StreamTimer::stop() {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_, stream_of(stream_));
  d.check(d.cuEventRecord(event_of(stop_), stream_of(stream_)), "cuEventRecord");
}

double StreamTimer::milliseconds() {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal_, stream_of(stream_));
  float elapsed = 0;
  d.check(d.cuEventSynchronize(event_of(stop_)), "cuEventSynchronize");
  d.check(d.cuEventElapsedTime(&elapsed, event_of(start_), event_of(stop_)), "cuEventElapsedTime");
  return double(elapsed);
}

}  // namespace speedlight::gpu
