#include "store/disk_cache.h"

#include "platform/environment.h"
#include "platform/files.h"
#include "platform/log.h"
#include "store/entry.h"

namespace speedlight::store {

std::string default_cache_folder() {
  if (const auto folder = platform::environment("SPEEDLIGHT_CACHE_DIR")) return *folder;
  if (const auto caches = platform::environment("XDG_CACHE_HOME")) return *caches + "/speedlight";
  const std::string home = platform::home_folder();
  return home.empty() ? home : home + "/.cache/speedlight";
}

std::optional<Code> DiskCache::load(const Identity& identity) {
  if (folder_.empty() || !platform::exists(folder_)) return std::nullopt;
  if (const std::string why = platform::check_private_folder(folder_); !why.empty()) {
    warn_once(why);
    return std::nullopt;
  }
  const std::string path = folder_ + "/" + to_hex(identity.hash);
  const auto bytes = platform::read_file(path);
  if (!bytes) return std::nullopt;
  auto code = read_entry(identity.text, *bytes);
  if (!code) {
    log(LogLevel::warning, "cache entry " + path + " is damaged; the kernel is compiled anew");
    return std::nullopt;
  }
  code->origin = "disk";
  return code;
}

void DiskCache::save(const Identity& identity, const Code& code) {
  if (folder_.empty()) {
    warn_once("neither SPEEDLIGHT_CACHE_DIR nor XDG_CACHE_HOME nor a home folder is known");
    return;
  }
  std::string why = platform::make_private_folder(folder_);
  if (why.empty()) why = platform::write_file_atomically(folder_ + "/" + to_hex(identity.hash), write_entry(identity.text, code));
  if (!why.empty()) warn_once(why);
}

std::string DiskCache::problem() const {
  if (folder_.empty()) return "neither SPEEDLIGHT_CACHE_DIR nor XDG_CACHE_HOME nor a home folder is known";
  if (platform::exists(folder_))
    if (std::string why = platform::check_private_folder(folder_); !why.empty()) return why;
  return platform::can_create_in(folder_) ? "" : folder_ + " cannot be written";
}

void DiskCache::warn_once(const std::string& why) {
  if (!warned_.exchange(true)) log(LogLevel::warning, "compiled kernels are not kept on disk: " + why);
}

}  // namespace speedlight::store
