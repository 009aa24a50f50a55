#include "conformance/vectors.h"

#include <cstring>

#include "platform/files.h"
#include "problem/error.h"

namespace speedlight::conformance {
namespace {

constexpr u64 magic = 0x3130464e4f434c53;  // "SLCONF01"

void put(std::vector<u8>& to, const void* from, std::size_t bytes) {
  const auto* p = static_cast<const u8*>(from);
  to.insert(to.end(), p, p + bytes);
}
void put(std::vector<u8>& to, u64 value) { put(to, &value, 8); }
void put(std::vector<u8>& to, const std::string& text) { put(to, text.size()), put(to, text.data(), text.size()); }

struct Reader {
  const std::string& path;
  std::vector<u8> bytes;
  std::size_t at = 0;

  const u8* take(std::size_t count) {
    if (count > bytes.size() - at) throw Error(Status::invalid_argument, path + " is cut off at byte " + std::to_string(bytes.size()));
    at += count;
    return bytes.data() + at - count;
  }
  u64 number() {
    u64 value;
    std::memcpy(&value, take(8), 8);
    return value;
  }
  std::vector<u8> block() {
    const std::size_t count = number();
    const u8* p = take(count);
    return {p, p + count};
  }
  std::string text() {
    const std::vector<u8> b = block();
    return {b.begin(), b.end()};
  }
};

}  // namespace

u64 digest(const Group& group) {  // FNV-1a
  u64 hash = 0xcbf29ce484222325u;
  const auto add = [&](u8 byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (const u8 byte : group.input) add(byte);
  for (const char c : group.kernel + " " + std::to_string(group.grid) + " " + std::to_string(group.output_bytes)) add(u8(c));
  return hash;
}

void write(const Vectors& vectors, const std::string& path) {
  std::vector<u8> bytes;
  put(bytes, magic);
  put(bytes, vectors.device);
  put(bytes, vectors.groups.size());
  for (const RecordedGroup& g : vectors.groups) {
    put(bytes, g.name);
    put(bytes, g.input_digest);
    put(bytes, g.output.size());
    put(bytes, g.output.data(), g.output.size());
  }
  if (const std::string why = platform::write_file_atomically(path, bytes); !why.empty()) throw Error(Status::internal, path + ": " + why);
}

Vectors read_vectors(const std::string& path) {
  auto bytes = platform::read_file(path);
  if (!bytes) throw Error(Status::invalid_argument, path + " cannot be read");
  Reader reader{path, std::move(*bytes)};
  if (reader.number() != magic) throw Error(Status::invalid_argument, path + " does not hold conformance vectors of this version");
  Vectors vectors;
  vectors.device = reader.text();
  const u64 count = reader.number();
  for (u64 i = 0; i < count; ++i) {
    RecordedGroup g;
    g.name = reader.text();
    g.input_digest = reader.number();
    g.output = reader.block();
    vectors.groups.push_back(std::move(g));
  }
  return vectors;
}

}  // namespace speedlight::conformance
