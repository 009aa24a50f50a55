// Facts of cards: what `plan` may know of a GPU. Known by name for cards that are not here, or read off the driver for the one that is.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include "base/types.h"

namespace speedlight {

struct DeviceFacts {
  std::string name;    // "rtx5090", or the driver's name
  int capability = 0;  // 80, 86, 89, 90, 120, 121
  int target = 0;      // the shipped target that serves it: 80, 86, 90, 120; other capabilities: the capability itself
  int sms = 0;
  i64 shared_block = 0;        // bytes a block may have (opt-in)
  i64 shared_sm = 0;           // bytes an SM has
  i64 shared_reserved = 1024;  // of which the system takes so many a block
  int registers_sm = 65536, threads_sm = 0, blocks_sm = 0;
  double mma_tflops = 0;  // bf16 mma.sync, fp32 accumulate
  double memory_tbs = 0;  // terabytes a second
  bool operator==(const DeviceFacts&) const = default;
};

std::span<const DeviceFacts> known_cards();  // rtx5090, rtxpro6000, gb10, h200, h100, a100, rtx3090, rtx4090
std::optional<DeviceFacts> find_card(std::string_view name);
int target_for(int capability);  // same major, highest shipped minor not above; else the capability

// Shared memory of the smallest card that a target serves: bytes a block may have, and bytes an SM has. Where none ships, the least of
// all since 8.0.
constexpr i64 shared_limit(int target) { return 1024 * (target == 80 ? 163 : target == 90 ? 227 : 99); }
constexpr i64 shared_of_sm(int target) { return shared_limit(target) + 1024; }

// Blocks of a kernel that one SM holds; `dynamic_shared` without the bytes that the system reserves. 0: the kernel does not fit at all.
int blocks_per_sm(const DeviceFacts& card, int threads, int registers, i64 dynamic_shared);

}  // namespace speedlight
