// A digest of a range of memory, to compare results bit by bit without copying them to the host: for tests and the command line tool.
#pragma once
#include "base/types.h"

namespace speedlight {

struct DigestConfig {
  constexpr bool operator==(const DigestConfig&) const = default;
  static constexpr i32 threads() { return 256; }
  static constexpr i32 warps() { return threads() / 32; }
};

// Any grid: the sum of all of `sums`, modulo 2^64, is the digest.
struct DigestParams {
  const void* data;  // 4-byte aligned
  i64 bytes;         // even, at most 2^34
  u64* sums;         // one a warp, block by block
};

// What a word adds to the digest: a bijection of (word, index), every bit of which depends on every bit of both.
constexpr u64 digest_term(u32 word, u32 index) {
  u64 x = u64(index) << 32 | word;
  x += 0x9e3779b97f4a7c15ull;  // so that a zero at 0 counts too
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

}  // namespace speedlight
