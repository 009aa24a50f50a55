#include "store/digest.h"

#include <bit>
#include <cstring>

namespace speedlight::store {
namespace {

constexpr std::size_t rounds = 64;

// The first 32 fractional bits of the square roots of the first 8 primes, and of the cube roots of the first 64.
constexpr std::array<u32, 8> initial_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<u32, rounds> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void absorb(std::array<u32, 8>& state, const u8* block) {
  std::array<u32, rounds> w;
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = u32{block[4 * i]} << 24 | u32{block[4 * i + 1]} << 16 | u32{block[4 * i + 2]} << 8 | u32{block[4 * i + 3]};
  for (std::size_t i = 16; i < rounds; ++i) {
    const u32 s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const u32 s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < rounds; ++i) {
    const u32 t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const u32 t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<u32, 8> out{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += out[i];
}

}  // namespace

Digest sha256(std::span<const u8> bytes) {
  std::array<u32, 8> state = initial_state;
  const u64 bits = u64{bytes.size()} * 8;
  for (; bytes.size() >= 64; bytes = bytes.subspan(64)) absorb(state, bytes.data());
  std::array<u8, 128> tail{};
  if (!bytes.empty()) std::memcpy(tail.data(), bytes.data(), bytes.size());
  tail[bytes.size()] = 0x80;
  const std::size_t blocks = bytes.size() + 9 <= 64 ? 1 : 2;
  for (std::size_t i = 0; i < 8; ++i) tail[blocks * 64 - 1 - i] = u8(bits >> (8 * i));
  for (std::size_t i = 0; i < blocks; ++i) absorb(state, tail.data() + 64 * i);
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) digest[i] = u8(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(std::string_view text) { return sha256(std::span(reinterpret_cast<const u8*>(text.data()), text.size())); }

std::string to_hex(const Digest& digest) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const u8 byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace speedlight::store
