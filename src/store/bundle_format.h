// Sizes of a bundle's parts, for its reader and its writer.
#pragma once
#include <string_view>
#include "store/digest.h"

namespace speedlight::store::bundle_format {

constexpr std::string_view magic = "SLbundle";
constexpr std::size_t hex_digest_size = 2 * sizeof(Digest);
constexpr std::size_t counts_at = magic.size() + hex_digest_size;
constexpr std::size_t header_size = counts_at + 4 * 4;
constexpr std::size_t row_size = sizeof(Digest) + 4 * 4;
constexpr std::size_t group_size = 8 + 2 * 4;
// Entries are grouped up to this size: more compresses better and makes a lookup slower (zstd gives back about 1 byte a nanosecond).
constexpr std::size_t group_target = std::size_t{2} << 20;
constexpr std::size_t ptx_group_target = std::size_t{16} << 20;  // the driver takes far longer to compile it than the lookup
constexpr std::size_t raw_limit = std::size_t{64} << 20;         // no reader allocates more for one group

}  // namespace speedlight::store::bundle_format
