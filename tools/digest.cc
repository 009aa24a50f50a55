#include "digest.h"
#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <numeric>
#include "problem/error.h"

namespace speedlight::cli {
namespace {

constexpr i64 most_bytes = i64(1) << 34;

u64 on_host(const Range& range) {
  u64 sum = 0;
  for (i64 at = 0; at < range.bytes; at += 4) {
    u32 word = 0;
    std::memcpy(&word, static_cast<const u8*>(range.data) + at, size_t(std::min<i64>(4, range.bytes - at)));
    sum += digest_term(word, u32(at / 4));
  }
  return sum;
}

}  // namespace

Digester::Digester(Machine& machine) : machine_(machine) {
  if (!machine.cuda()) return;
  const u32 blocks = u32(gpu::device_facts(gpu::current_device()).sms) * 8;
  sums_a_range_ = blocks * DigestConfig::warps();
  sums_ = static_cast<u64*>(machine.allocate(most_ranges * sums_a_range_ * 8));
  launch_ = machine.launcher(DigestConfig{}, blocks, &params_);
}

std::vector<u64> Digester::of(std::span<const Range> ranges) {
  std::vector<u64> digests, sums;
  if (i64(ranges.size()) > most_ranges)
    throw Error(Status::invalid_argument, fmt::format("digests of {} ranges: must be at most {}", ranges.size(), most_ranges));
  for (const Range& range : ranges) {
    if (range.bytes < 0 || range.bytes > most_bytes || range.bytes % 2 != 0)
      throw Error(Status::invalid_argument, fmt::format("digest of {} bytes: must be even, and 0 to {}", range.bytes, most_bytes));
    if (!machine_.cuda()) digests.push_back(on_host(range));
  }
  if (!machine_.cuda()) return digests;
  for (size_t i = 0; i < ranges.size(); ++i) {
    params_ = {ranges[i].data, ranges[i].bytes, sums_ + i64(i) * sums_a_range_};
    launch_();
  }
  sums.resize(ranges.size() * size_t(sums_a_range_));
  machine_.read(sums.data(), sums_, i64(sums.size()) * 8);
  for (auto at = sums.begin(); at != sums.end(); at += sums_a_range_) digests.push_back(std::accumulate(at, at + sums_a_range_, u64(0)));
  return digests;
}

}  // namespace speedlight::cli
