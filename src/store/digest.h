// SHA-256 (FIPS 180-4): names cache entries and detects damaged ones. Own code, since the library links nothing but zstd.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include "base/types.h"

namespace speedlight::store {

using Digest = std::array<u8, 32>;

Digest sha256(std::span<const u8> bytes);
Digest sha256(std::string_view text);
std::string to_hex(const Digest& digest);  // 64 lower-case digits

}  // namespace speedlight::store
