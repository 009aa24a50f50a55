#include "store/entry.h"

#include <algorithm>
#include <charconv>

#include "store/bytes.h"
#include "store/digest.h"

namespace speedlight::store {
namespace {

constexpr std::string_view magic = "SLentry1";
constexpr std::string_view separator = "--\n";
constexpr std::size_t digest_size = sizeof(Digest);
constexpr std::size_t footer_size = magic.size() + 8 + 8 + digest_size;

std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 1).ptr;
  return {buffer, end};
}

// Takes the line "<name> <value>" off the front of the text; false when it is not there.
bool take_line(std::string_view& text, std::string_view name, std::string_view& value) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ' ') return false;
  value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return true;
}
template <class Number>
bool take_number(std::string_view& text, std::string_view name, Number& number) {
  std::string_view value;
  if (!take_line(text, name, value)) return false;
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && stop == value.data() + value.size();
}

}  // namespace

std::vector<u8> write_entry(std::string_view identity, const Code& code) {
  std::string text(identity);
  text += separator;
  text += "producer " + code.producer + "\nregisters " + std::to_string(code.registers) + "\nspill_bytes " +
          std::to_string(code.spill_bytes) + "\nstatic_shared " + std::to_string(code.static_shared) + "\ncompile_ms " +
          number_text(code.compile_ms) + "\n";
  std::vector<u8> bytes = code.cubin;
  bytes.reserve(bytes.size() + text.size() + footer_size);
  append_text(bytes, text);
  append_text(bytes, magic);
  append_integer<u64>(bytes, code.cubin.size());
  append_integer<u64>(bytes, text.size());
  append_bytes(bytes, sha256(bytes));
  return bytes;
}

std::optional<Code> read_entry(std::string_view identity, std::span<const u8> bytes) {
  if (bytes.size() < footer_size) return std::nullopt;
  const auto footer = bytes.last(footer_size);
  const auto code_size = read_integer<u64>(footer, magic.size()), text_size = read_integer<u64>(footer, magic.size() + 8);
  const std::size_t body = bytes.size() - footer_size;
  if (as_text(footer.first(magic.size())) != magic || code_size > body || text_size != body - code_size) return std::nullopt;
  if (!std::ranges::equal(sha256(bytes.first(bytes.size() - digest_size)), bytes.last(digest_size))) return std::nullopt;

  std::string_view text = as_text(bytes.subspan(code_size, text_size));
  if (!text.starts_with(identity) || !text.substr(identity.size()).starts_with(separator)) return std::nullopt;
  text.remove_prefix(identity.size() + separator.size());
  Code code;
  std::string_view producer;
  if (!take_line(text, "producer", producer) || !take_number(text, "registers", code.registers) ||
      !take_number(text, "spill_bytes", code.spill_bytes) || !take_number(text, "static_shared", code.static_shared) ||
      !take_number(text, "compile_ms", code.compile_ms))
    return std::nullopt;
  code.producer = producer;
  code.cubin.assign(bytes.begin(), bytes.begin() + std::ptrdiff_t(code_size));
  return code;
}

}  // namespace speedlight::store
