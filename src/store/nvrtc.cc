#include "store/nvrtc.h"

#include <algorithm>

#include "platform/environment.h"
#include "platform/files.h"
#include "problem/error.h"
#include "store/sources.h"

namespace speedlight::store {
namespace {

constexpr int nvrtc_success = 0;
constexpr const char* file_names[] = {"libnvrtc.so.12", "libnvrtc.so.13"};

std::vector<std::string> candidates() {
  if (const auto path = platform::environment("SPEEDLIGHT_NVRTC")) return {*path};
  std::vector<std::string> names;
  const std::string own = platform::own_folder();
  if (!own.empty())
    for (const char* name : file_names) names.push_back(own + "/nvrtc/" + name);
  names.insert(names.end(), std::begin(file_names), std::end(file_names));
  return names;
}

}  // namespace

Nvrtc::Nvrtc() : library_(platform::Library::open(candidates())) {
  if (!library_) throw Error(Status::no_compiler, "NVRTC was not found (SPEEDLIGHT_NVRTC=<path> names one):\n" + library_.error());
  bind(get_version_, "nvrtcVersion");
  bind(error_string_, "nvrtcGetErrorString");
  bind(target_count_, "nvrtcGetNumSupportedArchs");
  bind(targets_list_, "nvrtcGetSupportedArchs");
  bind(create_, "nvrtcCreateProgram");
  bind(compile_, "nvrtcCompileProgram");
  bind(destroy_, "nvrtcDestroyProgram");
  bind(log_size_, "nvrtcGetProgramLogSize");
  bind(log_, "nvrtcGetProgramLog");
  bind(cubin_size_, "nvrtcGetCUBINSize");
  bind(cubin_, "nvrtcGetCUBIN");
  bind(ptx_size_, "nvrtcGetPTXSize");
  bind(ptx_, "nvrtcGetPTX");
  int count = 0;
  if (get_version_(&version_.major, &version_.minor) != nvrtc_success || target_count_(&count) != nvrtc_success || count < 1)
    throw Error(Status::no_compiler, library_.name() + " does not answer as NVRTC");
  targets_.resize(std::size_t(count));
  if (targets_list_(targets_.data()) != nvrtc_success) throw Error(Status::no_compiler, library_.name() + " does not list its targets");
}

template <class Signature>
void Nvrtc::bind(Signature*& function, const char* symbol) {
  function = library_.function<Signature>(symbol);
  if (function == nullptr) throw Error(Status::no_compiler, library_.name() + " has no function " + symbol);
}

const Nvrtc& Nvrtc::instance() {
  static const Nvrtc& nvrtc = *new Nvrtc;  // never destroyed: a thread may still compile at exit
  return nvrtc;
}

std::string Nvrtc::name() const { return "NVRTC " + std::to_string(version_.major) + "." + std::to_string(version_.minor); }

bool Nvrtc::supports(int target) const { return std::ranges::find(targets_, target) != targets_.end(); }

Nvrtc::Output Nvrtc::compile(const std::string& name, const std::string& source, std::span<const SourceFile> headers,
                             std::span<const std::string> options) const {
  const auto check = [this](Result result, const char* call) {
    if (result != nvrtc_success) throw Error(Status::compile_failed, std::string(call) + " failed: " + error_string_(result));
  };
  std::vector<const char*> texts, paths, flags;
  for (const SourceFile& file : headers) {
    texts.push_back(file.text.c_str());
    paths.push_back(file.path.c_str());
  }
  for (const std::string& option : options) flags.push_back(option.c_str());

  Program program = nullptr;
  check(create_(&program, source.c_str(), name.c_str(), int(texts.size()), texts.data(), paths.data()), "nvrtcCreateProgram");
  struct Destroy {
    const Nvrtc* nvrtc;
    Program* program;
    ~Destroy() { nvrtc->destroy_(program); }
  } destroy{this, &program};

  Output output;
  const Result result = compile_(program, int(flags.size()), flags.data());
  std::size_t size = 0;
  check(log_size_(program, &size), "nvrtcGetProgramLogSize");
  output.log.resize(size);
  if (size > 0) check(log_(program, output.log.data()), "nvrtcGetProgramLog");
  while (!output.log.empty() && (output.log.back() == '\0' || output.log.back() == '\n')) output.log.pop_back();
  if (result != nvrtc_success) {
    output.log = std::string(error_string_(result)) + "\n" + output.log;
    return output;
  }
  check(cubin_size_(program, &size), "nvrtcGetCUBINSize");
  const bool ptx = size == 0;  // a compute_ architecture has no cubin
  if (ptx) check(ptx_size_(program, &size), "nvrtcGetPTXSize");
  output.code.resize(size);
  char* to = reinterpret_cast<char*>(output.code.data());
  check(ptx ? ptx_(program, to) : cubin_(program, to), ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN");
  output.compiled = true;
  return output;
}

}  // namespace speedlight::store
