// The store as an object; the process has one (store.h), tests make their own.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include "store/bundle.h"
#include "store/disk_cache.h"
#include "store/store.h"

namespace speedlight::store {

class CodeStore {
 public:
  CodeStore(std::span<const u8> bundle, std::string cache_folder) : bundle_(bundle), cache_(std::move(cache_folder)) {}

  // As find_code and find_shipped of store.h. Threads that want the same code wait for one of them to get it; others do not wait.
  std::shared_ptr<const Code> find(const KernelConfig& config, int target);
  std::shared_ptr<const Code> find_shipped(const KernelConfig& config, int target);
  StoreFacts facts() const;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Code> code;
  };
  std::shared_ptr<Slot> slot(const KernelConfig& config, int target);
  Code compile_missing(const KernelConfig& config, int target);  // or its PTX, where NVRTC cannot

  Bundle bundle_;
  DiskCache cache_;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::shared_ptr<Slot>> slots_;
};

}  // namespace speedlight::store
