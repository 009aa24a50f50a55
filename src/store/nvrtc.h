// NVRTC, opened at run time: SPEEDLIGHT_NVRTC=<path>, else the folder nvrtc/ beside this library, else what the system's loader finds.
#pragma once
#include <span>
#include <string>
#include <vector>
#include "base/types.h"
#include "platform/library.h"

struct _nvrtcProgram;  // NOLINT(bugprone-reserved-identifier): NVRTC's own name

namespace speedlight::store {

struct SourceFile;

class Nvrtc {
 public:
  // Opened at the first call. Throws Error(no_compiler) that says what was tried.
  static const Nvrtc& instance();

  struct Version {
    int major = 0, minor = 0;
  };
  Version version() const { return version_; }
  std::string name() const;  // "NVRTC 12.8"
  const std::string& path() const { return library_.name(); }
  bool supports(int target) const;

  struct Output {
    bool compiled = false;
    std::vector<u8> code;  // a cubin; PTX, ending in '\0', when the options name a compute_ architecture
    std::string log;
  };
  // Compiles one translation unit; thread-safe, and threads run in parallel (measured with 12.8: two threads, twice the rate).
  Output compile(const std::string& name, const std::string& source, std::span<const SourceFile> headers,
                 std::span<const std::string> options) const;

 private:
  using Program = _nvrtcProgram*;
  using Result = int;
  Nvrtc();
  template <class Signature>
  void bind(Signature*& function, const char* symbol);

  platform::Library library_;
  Version version_;
  std::vector<int> targets_;
  Result (*get_version_)(int*, int*) = nullptr;
  const char* (*error_string_)(Result) = nullptr;
  Result (*target_count_)(int*) = nullptr;
  Result (*targets_list_)(int*) = nullptr;
  Result (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  Result (*compile_)(Program, int, const char* const*) = nullptr;
  Result (*destroy_)(Program*) = nullptr;
  Result (*log_size_)(Program, std::size_t*) = nullptr;
  Result (*log_)(Program, char*) = nullptr;
  Result (*cubin_size_)(Program, std::size_t*) = nullptr;
  Result (*cubin_)(Program, char*) = nullptr;
  Result (*ptx_size_)(Program, std::size_t*) = nullptr;
  Result (*ptx_)(Program, char*) = nullptr;
};

}  // namespace speedlight::store
