// Device memory, streams and timing for programs that call the library: the command line, tests, benchmarks. Launches use none of this.
#pragma once
#include "gpu/device.h"

namespace speedlight::gpu {

// Device memory of one device, 256-byte aligned; freed by the destructor.
class Buffer {
 public:
  Buffer(i64 bytes, int ordinal);  // throws Error(out_of_memory); 0 bytes: data() is null
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  i64 bytes() const { return bytes_; }
  // Bytes [offset, offset + bytes); done when the call returns. They do not wait for other streams' work.
  void upload(const void* from, i64 bytes, i64 offset = 0) const;
  void download(void* to, i64 bytes, i64 offset = 0) const;
  void fill(u8 byte) const;

 private:
  void* data_ = nullptr;
  i64 bytes_ = 0;
  int ordinal_ = 0;
};

// A stream of the device's primary (or current) context that waits for no other.
class OwnedStream {
 public:
  explicit OwnedStream(int ordinal);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  Stream get() const { return stream_; }
  void synchronize() const;  // throws Error(cuda_error) when a kernel failed

 private:
  Stream stream_ = nullptr;
  int ordinal_;
};

// Milliseconds of device time between two points of a stream.
class StreamTimer {
 public:
  StreamTimer(int ordinal, Stream stream);
  ~StreamTimer();
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  void start();
  void stop();
  double milliseconds();  // waits for stop

 private:
  int ordinal_;
  Stream stream_;
  void *start_ = nullptr, *stop_ = nullptr;  // CUevent
};

}  // namespace speedlight::gpu
