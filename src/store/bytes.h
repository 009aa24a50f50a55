// Little-endian integers in byte strings.
#pragma once
#include <span>
#include <string_view>
#include <vector>
#include "base/types.h"

namespace speedlight::store {

template <class Integer>
void append_integer(std::vector<u8>& to, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) to.push_back(u8(static_cast<u64>(value) >> (8 * i)));
}
inline void append_bytes(std::vector<u8>& to, std::span<const u8> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
inline void append_text(std::vector<u8>& to, std::string_view text) { to.insert(to.end(), text.begin(), text.end()); }

// The caller has checked that the bytes are there.
template <class Integer>
Integer read_integer(std::span<const u8> from, std::size_t offset) {
  u64 value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) value |= u64{from[offset + i]} << (8 * i);
  return Integer(value);
}
inline std::string_view as_text(std::span<const u8> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace speedlight::store
