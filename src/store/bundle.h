// The bundle: many entries in one file that is embedded in the library. Groups of alike entries are compressed together (zstd), so that a
// lookup decompresses one group only.
//   "SLbundle" | digest of all device sources (64 hex digits) | entries, groups, producer length, index length (4 x 4 bytes) | producer |
//   per entry, ordered by hash: hash (32), group, offset, size, target (4 x 4) | per group: offset (8), size, raw size (2 x 4) |
//   SHA-256 of all before it | the groups' zstd frames
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "store/identity.h"
#include "store/recipe.h"
#include "store/store.h"

namespace speedlight::store {

class Bundle {
 public:
  // Keeps the span. A damaged bundle counts as empty and problem() says why; an empty span is an empty bundle.
  explicit Bundle(std::span<const u8> bytes);

  std::optional<Code> find(const Identity& identity) const;  // origin "bundle"
  std::vector<std::pair<int, int>> targets() const;          // target, number of entries
  std::size_t size() const { return entries_; }
  std::string_view producer() const { return producer_; }
  std::string_view source_digest() const { return source_digest_; }
  std::string_view problem() const { return problem_; }
  u64 bytes() const { return bytes_.size(); }

 private:
  struct Row {
    std::span<const u8> hash;
    u32 group, offset, size, target;
  };
  Row row(std::size_t index) const;
  std::string_view read_index();

  std::span<const u8> bytes_, rows_, groups_;
  std::size_t entries_ = 0;
  std::string_view producer_, source_digest_, problem_;
};

// The bundle inside this library or program; empty when it was built without one.
std::span<const u8> embedded_bundle();

struct BundleItem {
  Recipe recipe;
  Identity identity;
  Code code;
};
// Throws Error(internal) when an identity occurs twice.
std::vector<u8> write_bundle(std::vector<BundleItem> items, std::string_view source_digest, std::string_view producer);

}  // namespace speedlight::store
