#include "store/bundle.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <zstd.h>

#include "store/bundle_format.h"
#include "store/bytes.h"
#include "store/entry.h"

namespace speedlight::store {

Bundle::Bundle(std::span<const u8> bytes) : bytes_(bytes) {
  if (bytes.empty()) return;
  problem_ = read_index();
  if (!problem_.empty()) entries_ = 0;
}

std::string_view Bundle::read_index() {
  using namespace bundle_format;
  constexpr std::string_view damaged = "the bundle is damaged";
  if (bytes_.size() < header_size || as_text(bytes_.first(magic.size())) != magic) return "not a bundle of this version";
  source_digest_ = as_text(bytes_.subspan(magic.size(), hex_digest_size));
  const u64 entries = read_integer<u32>(bytes_, counts_at), groups = read_integer<u32>(bytes_, counts_at + 4);
  const u64 producer = read_integer<u32>(bytes_, counts_at + 8), index = read_integer<u32>(bytes_, counts_at + 12);
  if (index != header_size + producer + entries * row_size + groups * group_size || index + sizeof(Digest) > bytes_.size()) return damaged;
  if (!std::ranges::equal(sha256(bytes_.first(index)), bytes_.subspan(index, sizeof(Digest)))) return damaged;
  producer_ = as_text(bytes_.subspan(header_size, producer));
  rows_ = bytes_.subspan(header_size + producer, entries * row_size);
  groups_ = bytes_.subspan(header_size + producer + entries * row_size, groups * group_size);
  entries_ = entries;
  return {};
}

Bundle::Row Bundle::row(std::size_t index) const {
  const auto bytes = rows_.subspan(index * bundle_format::row_size, bundle_format::row_size);
  constexpr std::size_t numbers = sizeof(Digest);
  return {bytes.first(numbers), read_integer<u32>(bytes, numbers), read_integer<u32>(bytes, numbers + 4),
          read_integer<u32>(bytes, numbers + 8), read_integer<u32>(bytes, numbers + 12)};
}

std::optional<Code> Bundle::find(const Identity& identity) const {
  std::size_t low = 0, high = entries_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (std::memcmp(row(middle).hash.data(), identity.hash.data(), sizeof(Digest)) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == entries_) return std::nullopt;
  const Row found = row(low);
  if (!std::ranges::equal(found.hash, identity.hash) || u64{found.group} * bundle_format::group_size >= groups_.size()) return std::nullopt;

  const auto group = groups_.subspan(found.group * bundle_format::group_size, bundle_format::group_size);
  const u64 offset = read_integer<u64>(group, 0), size = read_integer<u32>(group, 8), raw = read_integer<u32>(group, 12);
  if (offset > bytes_.size() || size > bytes_.size() - offset || u64{found.offset} + found.size > raw || raw > bundle_format::raw_limit)
    return std::nullopt;
  std::vector<u8> plain(raw);
  if (ZSTD_decompress(plain.data(), plain.size(), bytes_.data() + offset, size) != raw) return std::nullopt;
  auto code = read_entry(identity.text, std::span<const u8>(plain).subspan(found.offset, found.size));
  if (code) code->origin = "bundle";
  return code;
}

std::vector<std::pair<int, int>> Bundle::targets() const {
  std::map<int, int> counts;
  for (std::size_t i = 0; i < entries_; ++i) ++counts[int(row(i).target)];
  return {counts.begin(), counts.end()};
}

}  // namespace speedlight::store
