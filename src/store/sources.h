// The device sources: every file under src/device, embedded at build time, or read from SPEEDLIGHT_DEVICE_SOURCE=<folder>.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace speedlight::store {

// A row of the table that cmake/embed_sources.cmake generates; `digest` is the text's SHA-256 in hex.
struct EmbeddedSource {
  const char *path, *text, *digest;
};
std::span<const EmbeddedSource> embedded_sources();

struct SourceFile {
  std::string path;  // as includes name it: "ptx/mma.h"
  std::string text;
  std::string digest;  // SHA-256 of the text, in hex
};

class DeviceSources {
 public:
  explicit DeviceSources(std::span<const EmbeddedSource> table);
  // Every file below the folder. Throws Error(invalid_argument) when it cannot be read.
  explicit DeviceSources(const std::string& folder);
  // The process's sources, read once.
  static const DeviceSources& current();

  // Those files that a translation unit includes, directly or not, ordered by path. Includes that no file answers are left to NVRTC.
  std::vector<const SourceFile*> reached_from(std::string_view source) const;

  const std::string& digest() const { return digest_; }  // of all files
  const std::string& folder() const { return folder_; }  // empty when embedded
  std::span<const SourceFile> files() const { return files_; }

 private:
  void finish();
  const SourceFile* find(std::string_view path) const;

  std::vector<SourceFile> files_;  // ordered by path
  std::string folder_, digest_;
};

// SHA-256, in hex, over the lines "<digest> <path>\n" of the files, which are ordered by path. cmake/bundle.cmake computes the same.
std::string digest_of(std::span<const SourceFile* const> files);

}  // namespace speedlight::store
