// The digest kernel on the emulator against a host implementation, and what a digest must tell apart.
#include <gtest/gtest.h>
#include <cstring>
#include <random>
#include <vector>
#include "kernels/digest.h"
#include "launch.h"
#include "memory.h"

namespace speedlight {
namespace {

std::vector<u8> random_bytes(i64 bytes) {
  std::mt19937_64 random(9);
  std::vector<u8> data(size_t(bytes), 0);
  for (u8& x : data) x = u8(random());
  return data;
}

u64 emulated(const std::vector<u8>& data, u32 blocks) {
  constexpr DigestConfig config;
  std::vector<u64> sums(blocks * u32(config.warps()));
  const DigestParams params{data.data(), i64(data.size()), sums.data()};
  const emulator::Region input("data", data.data(), i64(data.size()), emulator::Access::input);
  const emulator::Region output("sums", sums.data(), i64(sums.size() * 8), emulator::Access::output);
  emulator::launch(blocks, config.threads(), 0, [&] { kernels::digest<config>(params); }, {.name = "digest"});
  EXPECT_EQ(output.unwritten(), 0);
  u64 digest = 0;
  for (const u64 sum : sums) digest += sum;
  return digest;
}

u64 on_host(const std::vector<u8>& data) {
  u64 digest = 0;
  for (size_t at = 0; at < data.size(); at += 4) {
    u32 word = 0;
    std::memcpy(&word, data.data() + at, std::min<size_t>(4, data.size() - at));
    digest += digest_term(word, u32(at / 4));
  }
  return digest;
}

TEST(Digest, IsThatOfTheHostWhateverTheSizeAndTheGrid) {
  constexpr i64 block = 256 * 4;
  for (const i64 bytes : {i64(2), i64(4), i64(6), i64(126), block - 2, block, block + 2, 2 * block + 4, 9 * block + 130}) {
    const std::vector<u8> data = random_bytes(bytes);
    for (const u32 blocks : {1u, 2u, 5u}) EXPECT_EQ(emulated(data, blocks), on_host(data)) << bytes << " bytes, " << blocks << " blocks";
  }
  EXPECT_EQ(emulated({}, 2), 0u);
}

TEST(Digest, OfAKnownText) { EXPECT_EQ(digest_term(0, 0), 0xe220a8397b1dcdafull); }  // splitmix64's first number from seed 0

TEST(Digest, ChangesWithEveryBitAndEveryExchange) {
  std::vector<u8> data = random_bytes(2 * 1024 + 6);
  const u64 digest = emulated(data, 2);
  for (const size_t bit : {size_t(0), size_t(31), size_t(32), size_t(8191), 8 * data.size() - 17, 8 * data.size() - 1}) {
    data[bit / 8] ^= u8(1 << bit % 8);
    EXPECT_NE(emulated(data, 2), digest) << "bit " << bit;
    data[bit / 8] ^= u8(1 << bit % 8);
  }
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 8}, {3, 259}, {255, 256}, {5, 511}}) {
    std::swap_ranges(data.begin() + 4 * a, data.begin() + 4 * a + 4, data.begin() + 4 * b);
    EXPECT_NE(emulated(data, 2), digest) << "words " << a << " and " << b;
    std::swap_ranges(data.begin() + 4 * a, data.begin() + 4 * a + 4, data.begin() + 4 * b);
  }
  EXPECT_EQ(emulated(data, 3), digest);
}

TEST(Digest, TellsZerosOfDifferentLengthsApart) {
  EXPECT_NE(emulated(std::vector<u8>(64, 0), 1), emulated(std::vector<u8>(60, 0), 1));
  EXPECT_NE(emulated(std::vector<u8>(64, 0xff), 1), emulated(std::vector<u8>(64, 0), 1));
}

}  // namespace
}  // namespace speedlight
