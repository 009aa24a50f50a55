// What the store's tests share: a folder of their own, the log's messages, child processes.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "platform/log.h"
#include "problem/error.h"
#include "store/nvrtc.h"
#include "store/store.h"

namespace speedlight::store {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = testing::TempDir() + "/speedlight-store-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    set_log_sink(
        [](LogLevel level, const char* message, void* user) {
          auto& test = *static_cast<StoreTest*>(user);
          const std::lock_guard lock(test.mutex_);
          (level == LogLevel::info ? test.infos_ : test.warnings_).emplace_back(message);
        },
        this);
  }
  ~StoreTest() override {
    set_log_sink(nullptr, nullptr);
    std::filesystem::remove_all(folder_);
  }

  const std::string& folder() const { return folder_; }
  std::string cache_folder() const { return folder_ + "/cache"; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<std::string>& infos() const { return infos_; }
  std::vector<std::string> files_in(const std::string& path) const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(path)) names.push_back(file.path().filename().string());
    return names;
  }

 private:
  std::string folder_;
  std::mutex mutex_;
  std::vector<std::string> warnings_, infos_;
};

inline KernelConfig pack_config() { return PackConfig{.element_bytes = 2}; }

// Code that no compiler made, for tests of what carries it.
inline Code made_up_code(std::size_t size = 1000, u8 first = 7) {
  Code code;
  for (std::size_t i = 0; i < size; ++i) code.cubin.push_back(u8(first + i * i));
  code.registers = 255;
  code.spill_bytes = 12;
  code.static_shared = 2048;
  code.compile_ms = 612.5;
  code.producer = "NVRTC 12.8";
  return code;
}

inline void expect_same(const Code& a, const Code& b) {
  EXPECT_EQ(a.cubin, b.cubin);
  EXPECT_EQ(a.registers, b.registers);
  EXPECT_EQ(a.spill_bytes, b.spill_bytes);
  EXPECT_EQ(a.static_shared, b.static_shared);
  EXPECT_EQ(a.compile_ms, b.compile_ms);
  EXPECT_EQ(a.producer, b.producer);
}

inline bool have_nvrtc() {
  try {
    return Nvrtc::instance().supports(120);
  } catch (const Error&) {
    return false;
  }
}

// Runs the function in a child process; its result is the child's exit status (0 to 125), or 126 when it throws.
template <class Function>
pid_t start_child(Function function) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 126;
    try {
      status = function();
    } catch (...) {}
    _exit(status);
  }
  return child;
}
inline int wait_for(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

// Sets a variable for a scope.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~ScopedEnvironment() { unsetenv(name_); }

 private:
  const char* name_;
};

#define SPEEDLIGHT_NEEDS_NVRTC() \
  if (!have_nvrtc()) GTEST_SKIP() << "NVRTC with sm_120 was not found"

}  // namespace speedlight::store
