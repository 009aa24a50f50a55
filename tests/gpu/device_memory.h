// Device memory and streams for the GPU tests.
#pragma once
#include <vector>
#include "gpu/context.h"

namespace speedlight::gpu {

inline bool has_gpu() {
  std::string why;
  return find_driver(&why) != nullptr;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes, int ordinal = 0) : ordinal_(ordinal), bytes_(bytes) {
    const ContextGuard guard(driver(), ordinal);
    driver().check(driver().cuMemAlloc(&address_, bytes + 256), "cuMemAlloc");
    fill(0xff);
  }
  template <class T>
  explicit DeviceMemory(const std::vector<T>& from, int ordinal = 0) : DeviceMemory(from.size() * sizeof(T), ordinal) {
    const ContextGuard guard(driver(), ordinal_);
    driver().check(driver().cuMemcpyHtoDAsync(address_, from.data(), bytes_, nullptr), "cuMemcpyHtoDAsync");
    driver().check(driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }
  ~DeviceMemory() {
    const ContextGuard guard(driver(), ordinal_);
    driver().cuMemFree(address_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* get() const { return reinterpret_cast<void*>(address_); }
  void fill(unsigned char byte) {
    const ContextGuard guard(driver(), ordinal_);
    driver().check(driver().cuMemsetD8Async(address_, byte, bytes_ + 256, nullptr), "cuMemsetD8Async");
    driver().check(driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> to(bytes_ / sizeof(T));
    const ContextGuard guard(driver(), ordinal_);
    driver().check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
    driver().check(driver().cuMemcpyDtoHAsync(to.data(), address_, bytes_, nullptr), "cuMemcpyDtoHAsync");
    driver().check(driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    return to;
  }

 private:
  int ordinal_;
  std::size_t bytes_;
  CUdeviceptr address_ = 0;
};

class TestStream {
 public:
  explicit TestStream(int ordinal = 0) {
    const ContextGuard guard(driver(), ordinal);
    driver().check(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  ~TestStream() { driver().cuStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;

  CUstream get() const { return stream_; }
  void wait() const { driver().check(driver().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

 private:
  CUstream stream_ = nullptr;
};

}  // namespace speedlight::gpu
