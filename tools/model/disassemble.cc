#include "model/disassemble.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>
#include "problem/error.h"

namespace speedlight::model {
namespace {

// A file without a name of its own elsewhere, removed at the end.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / "speedlight-model-XXXXXX").string();
  int handle = mkstemp(path.data());
  ~TemporaryFile() {
    if (handle >= 0) close(handle), unlink(path.c_str());
  }
};

std::string read_all(int handle) {
  std::string text;
  std::vector<char> part(1 << 16);
  for (ssize_t n; (n = read(handle, part.data(), part.size())) > 0;) text.append(part.data(), size_t(n));
  return text;
}

}  // namespace

std::optional<std::string> find_nvdisasm() {
  if (const char* path = std::getenv("SPEEDLIGHT_NVDISASM")) return path;
  std::vector<std::string> places{std::string(SPEEDLIGHT_DEPS) + "/nvidia/cu13/bin"};
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) places.push_back(folder);
  }
  for (const std::string& folder : places)
    if (access((folder + "/nvdisasm").c_str(), X_OK) == 0) return folder + "/nvdisasm";
  return std::nullopt;
}

std::string disassemble(std::span<const u8> cubin) {
  const auto program = find_nvdisasm();
  if (!program)
    throw Error(Status::no_compiler, "model: nvdisasm was not found; `make setup` unpacks it, SPEEDLIGHT_NVDISASM=<path> names one");
  TemporaryFile file;
  if (file.handle < 0 || write(file.handle, cubin.data(), cubin.size()) != ssize_t(cubin.size()))
    throw Error(Status::no_compiler, "model: cannot write " + file.path);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(Status::no_compiler, "model: no pipe to nvdisasm");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  char print_code[] = "-c";
  char* arguments[] = {const_cast<char*>(program->c_str()), print_code, file.path.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program->c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string text = failed ? std::string() : read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  if (failed || waitpid(child, &status, 0) != child || status != 0)
    throw Error(Status::no_compiler, "model: " + *program + " failed; is it as new as the code's target?");
  return text;
}

}  // namespace speedlight::model
