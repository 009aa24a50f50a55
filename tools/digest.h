// Digests of device memory (config/digest_config.h): results compared bit by bit, without copying them to the host.
#pragma once
#include <span>
#include "config/digest_config.h"
#include "machine.h"

namespace speedlight::cli {

struct Range {
  void* data;
  i64 bytes;
  Range part(i64 first, i64 count, i64 of) const { return {static_cast<u8*>(data) + bytes / of * first, bytes / of * count}; }
};

class Digester {
 public:
  explicit Digester(Machine& machine);
  // One a range, of at most `most_ranges`. Waits for all work of the main queue.
  std::vector<u64> of(std::span<const Range> ranges);
  static constexpr i64 most_ranges = 8;

 private:
  Machine& machine_;
  i64 sums_a_range_ = 0;
  DigestParams params_{};
  u64* sums_ = nullptr;
  std::function<void()> launch_;
};

}  // namespace speedlight::cli
