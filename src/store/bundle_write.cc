#include <algorithm>

#include <zstd.h>

#include "problem/error.h"
#include "store/bundle.h"
#include "store/bundle_format.h"
#include "store/bytes.h"
#include "store/entry.h"

namespace speedlight::store {
namespace {

struct Placed {
  Digest hash;
  u32 group, offset, size, target;
};
struct Group {
  std::vector<u8> raw, frame;
};

// Entries are ordered by target and this, so that neighbours are alike: one config's code for fp16 and bf16 differs least of all.
std::string order_text(const KernelConfig& config) {
  std::string text = to_text(config);
  for (const std::string_view dtype : {".fp16", ".bf16"})
    if (const std::size_t at = text.find(dtype); at != std::string::npos) text.erase(at, dtype.size()) += dtype;
  return text;
}

std::vector<u8> compress(const std::vector<u8>& raw) {
  const auto check = [](std::size_t result) {
    if (ZSTD_isError(result)) throw Error(Status::internal, std::string("zstd: ") + ZSTD_getErrorName(result));
    return result;
  };
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 19));
  check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_enableLongDistanceMatching, 1));
  check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, 26));
  std::vector<u8> frame(ZSTD_compressBound(raw.size()));
  frame.resize(check(ZSTD_compress2(context.get(), frame.data(), frame.size(), raw.data(), raw.size())));
  return frame;
}

}  // namespace

std::vector<u8> write_bundle(std::vector<BundleItem> items, std::string_view source_digest, std::string_view producer) {
  using namespace bundle_format;
  std::ranges::sort(items, {}, [](const BundleItem& item) { return std::pair(item.recipe.target, order_text(item.recipe.config)); });
  std::vector<Placed> placed;
  std::vector<Group> groups;
  int group_of_target = 0;
  for (const BundleItem& item : items) {
    const std::vector<u8> entry = write_entry(item.identity.text, item.code);
    const std::size_t limit = is_ptx(item.recipe.target) ? ptx_group_target : group_target;
    if (groups.empty() || group_of_target != item.recipe.target || groups.back().raw.size() + entry.size() > limit) groups.emplace_back();
    group_of_target = item.recipe.target;
    std::vector<u8>& raw = groups.back().raw;
    placed.push_back({item.identity.hash, u32(groups.size() - 1), u32(raw.size()), u32(entry.size()), u32(item.recipe.target)});
    append_bytes(raw, entry);
  }
  std::ranges::sort(placed, {}, &Placed::hash);
  if (std::ranges::adjacent_find(placed, {}, &Placed::hash) != placed.end()) throw Error(Status::internal, "bundle: an entry occurs twice");
  for (Group& group : groups) group.frame = compress(group.raw);

  std::vector<u8> bytes;
  append_text(bytes, magic);
  append_text(bytes, source_digest);
  const std::size_t index = header_size + producer.size() + placed.size() * row_size + groups.size() * group_size;
  for (const std::size_t count : {placed.size(), groups.size(), producer.size(), index}) append_integer<u32>(bytes, u32(count));
  append_text(bytes, producer);
  for (const Placed& row : placed) {
    append_bytes(bytes, row.hash);
    for (const u32 number : {row.group, row.offset, row.size, row.target}) append_integer<u32>(bytes, number);
  }
  u64 offset = index + sizeof(Digest);
  for (const Group& group : groups) {
    append_integer<u64>(bytes, offset);
    append_integer<u32>(bytes, u32(group.frame.size()));
    append_integer<u32>(bytes, u32(group.raw.size()));
    offset += group.frame.size();
  }
  append_bytes(bytes, sha256(bytes));
  for (const Group& group : groups) append_bytes(bytes, group.frame);
  return bytes;
}

}  // namespace speedlight::store
