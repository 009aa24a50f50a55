// The disk cache: a file an entry, in a folder of the user's own. It only ever saves work: what goes wrong is one warning, then silence.
#pragma once
#include <atomic>
#include <optional>
#include <string>
#include "store/identity.h"
#include "store/store.h"

namespace speedlight::store {

class DiskCache {
 public:
  // The folder is made at the first write. An empty name: no cache.
  explicit DiskCache(std::string folder) : folder_(std::move(folder)) {}

  // Nothing when it is not there or damaged.
  std::optional<Code> load(const Identity& identity);
  void save(const Identity& identity, const Code& code);

  const std::string& folder() const { return folder_; }
  std::string problem() const;  // why it cannot be used; empty when it can

 private:
  void warn_once(const std::string& why);

  std::string folder_;
  std::atomic<bool> warned_{false};
};

// SPEEDLIGHT_CACHE_DIR, else $XDG_CACHE_HOME/speedlight, else ~/.cache/speedlight; empty without a home.
std::string default_cache_folder();

}  // namespace speedlight::store
