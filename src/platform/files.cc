#include "platform/files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "platform/environment.h"

namespace speedlight::platform {
namespace {

std::string failure(const std::string& action, const std::string& path) {
  return "cannot " + action + " " + path + ": " + std::generic_category().message(errno);
}

// Closes on scope exit.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close_now(); }
  int get() const { return fd_; }
  bool close_now() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

bool write_all(int fd, std::span<const u8> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(std::size_t(n));
  }
  return true;
}

// Unique among threads and processes, and hidden.
std::string temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  const std::string name = "." + path.filename().string() + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
  return (path.parent_path() / name).string();
}

}  // namespace

std::optional<std::vector<u8>> read_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::vector<u8> bytes(std::size_t(info.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    have += std::size_t(n);
  }
  bytes.resize(have);
  return bytes;
}

std::string write_file_atomically(const std::string& path, std::span<const u8> bytes) {
  const std::string temporary = temporary_name(path);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return failure("create", temporary);
  if (write_all(file.get(), bytes) && ::fsync(file.get()) == 0 && file.close_now() && ::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  std::string why = failure("write", path);
  ::unlink(temporary.c_str());
  return why;
}

std::string check_private_folder(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return failure("use", path);
  if (!S_ISDIR(info.st_mode)) return path + " is not a folder";
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return path + " belongs to another user";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return path + " can be written by other users; `chmod 700` makes it private";
  return {};
}

std::string make_private_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::absolute(path, error).parent_path();
  if (!error) std::filesystem::create_directories(parent, error);
  if (error) return "cannot create " + parent.string() + ": " + error.message();
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure("create", path);
  return check_private_folder(path);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool can_create_in(const std::string& folder) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(folder, error);
  while (!exists(at.string()) && at.has_relative_path()) at = at.parent_path();
  return !error && std::filesystem::is_directory(at, error) && ::faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

std::string home_folder() {
  if (auto home = environment("HOME")) return *home;
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  return found->pw_dir;
}

std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  std::filesystem::path name = info.dli_fname;
  if (!name.has_parent_path()) name = "/proc/self/exe";  // a program found through PATH
  const std::filesystem::path file = std::filesystem::canonical(name, error);
  return error ? std::string() : file.parent_path().string();
}

}  // namespace speedlight::platform
