// A shared library opened at run time: the CUDA driver, NVRTC.
#pragma once
#include <span>
#include <string>

namespace speedlight::platform {

// Opened once and never closed: other threads may still run its code at exit.
class Library {
 public:
  Library() = default;
  // Opens the first of `names` (file names or paths) that loads. Never throws; false when none does, and error() says why.
  static Library open(std::span<const std::string> names);

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }    // the one of `names` that was opened
  const std::string& error() const { return error_; }  // the loader's messages when none opened, one a line
  void* symbol(const char* symbol) const;              // null when absent

  // Typed lookup: lib.function<int(int)>("f"); null when absent.
  template <class Signature>
  Signature* function(const char* symbol_name) const {
    return reinterpret_cast<Signature*>(symbol(symbol_name));
  }

 private:
  void* handle_ = nullptr;
  std::string name_, error_;
};

}  // namespace speedlight::platform
