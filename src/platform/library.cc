#include "platform/library.h"

#include <dlfcn.h>

namespace speedlight::platform {

Library Library::open(std::span<const std::string> names) {
  Library library;
  for (const std::string& name : names) {
    library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) {
      library.name_ = name;
      library.error_.clear();
      return library;
    }
    const char* message = dlerror();
    if (!library.error_.empty()) library.error_ += '\n';
    library.error_ += message != nullptr ? message : "cannot open " + name;
  }
  return library;
}

void* Library::symbol(const char* symbol) const { return handle_ == nullptr ? nullptr : dlsym(handle_, symbol); }

}  // namespace speedlight::platform
