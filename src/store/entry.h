// An entry: code with its trailer, as one run of bytes. The same bytes are a file of the disk cache and a part of the bundle.
//   code | text | "SLentry1" | code length (8 bytes, little-endian) | text length (8) | SHA-256 of all before it (32)
// The text is the identity, a line "--", and a line each for producer, registers, spill_bytes, static_shared and compile_ms.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>
#include "store/store.h"

namespace speedlight::store {

std::vector<u8> write_entry(std::string_view identity, const Code& code);
// Nothing when the bytes are damaged, cut short, or of another identity. Leaves `origin` empty.
std::optional<Code> read_entry(std::string_view identity, std::span<const u8> bytes);

}  // namespace speedlight::store
