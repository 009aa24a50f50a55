#include "store/sources.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "platform/environment.h"
#include "platform/files.h"
#include "problem/error.h"
#include "store/digest.h"

namespace speedlight::store {
namespace {

// Calls visit(path) for each line `#include "path"`.
template <class Visit>
void each_include(std::string_view text, Visit visit) {
  constexpr std::string_view directive = "#include \"";
  for (std::size_t at = text.find(directive); at != std::string_view::npos; at = text.find(directive, at)) {
    at += directive.size();
    const std::size_t end = text.find('"', at);
    if (end == std::string_view::npos) return;
    visit(text.substr(at, end - at));
  }
}

}  // namespace

DeviceSources::DeviceSources(std::span<const EmbeddedSource> table) {
  for (const EmbeddedSource& row : table) files_.push_back({row.path, row.text, row.digest});
  finish();
}

DeviceSources::DeviceSources(const std::string& folder) : folder_(folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file()) continue;
    const auto bytes = platform::read_file(it->path().string());
    if (!bytes) continue;
    std::string text(bytes->begin(), bytes->end());
    std::string digest = to_hex(sha256(text));
    files_.push_back({it->path().lexically_relative(folder).generic_string(), std::move(text), std::move(digest)});
  }
  if (error || files_.empty())
    throw Error(Status::invalid_argument, "SPEEDLIGHT_DEVICE_SOURCE is '" + folder +
                                              "': must be a folder with the sources under src/device" +
                                              (error ? " (" + error.message() + ")" : ""));
  finish();
}

void DeviceSources::finish() {
  std::ranges::sort(files_, {}, &SourceFile::path);
  std::vector<const SourceFile*> all;
  for (const SourceFile& file : files_) all.push_back(&file);
  digest_ = digest_of(all);
}

const DeviceSources& DeviceSources::current() {
  static const DeviceSources sources = [] {
    const auto folder = platform::environment("SPEEDLIGHT_DEVICE_SOURCE");
    return folder ? DeviceSources(*folder) : DeviceSources(embedded_sources());
  }();
  return sources;
}

const SourceFile* DeviceSources::find(std::string_view path) const {
  const auto it = std::ranges::lower_bound(files_, path, {}, [](const SourceFile& file) { return std::string_view(file.path); });
  return it != files_.end() && it->path == path ? &*it : nullptr;
}

std::vector<const SourceFile*> DeviceSources::reached_from(std::string_view source) const {
  std::set<const SourceFile*> reached;  // files_ is ordered by path, and so are pointers into it
  std::vector<std::string_view> waiting{source};
  while (!waiting.empty()) {
    const std::string_view text = waiting.back();
    waiting.pop_back();
    each_include(text, [&](std::string_view path) {
      const SourceFile* file = find(path);
      if (file != nullptr && reached.insert(file).second) waiting.push_back(file->text);
    });
  }
  return {reached.begin(), reached.end()};
}

std::string digest_of(std::span<const SourceFile* const> files) {
  std::string lines;
  for (const SourceFile* file : files) lines += file->digest + ' ' + file->path + '\n';
  return to_hex(sha256(lines));
}

}  // namespace speedlight::store
