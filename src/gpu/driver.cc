#include "gpu/driver.h"
#include <algorithm>
#include <array>
#include "platform/library.h"

namespace speedlight::gpu {
namespace {

struct Opened {
  Driver driver;
  std::string why;  // empty when the driver is usable
};

std::string describe(const Driver& d, CUresult result) {
  const char *name = nullptr, *text = nullptr;
  if (d.cuGetErrorName && d.cuGetErrorName(result, &name) == CUDA_SUCCESS && d.cuGetErrorString(result, &text) == CUDA_SUCCESS)
    return std::string(name) + " (" + text + ")";
  return "error " + std::to_string(int(result));
}

// The context is lost after one of these: every later call in it reports the same.
bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

#define SPEEDLIGHT_TEXT_OF(name) #name
#define SPEEDLIGHT_TEXT(name) SPEEDLIGHT_TEXT_OF(name)  // expands cuda.h's renaming to versioned symbols first

std::string load_functions(Driver& d, const platform::Library& library) {
  std::string missing;
#define SPEEDLIGHT_LOAD(name)                                                         \
  d.name = reinterpret_cast<decltype(d.name)>(library.symbol(SPEEDLIGHT_TEXT(name))); \
  if (!d.name) missing += (missing.empty() ? "" : ", ") + std::string(SPEEDLIGHT_TEXT(name));
  SPEEDLIGHT_DRIVER_FUNCTIONS(SPEEDLIGHT_LOAD)
#undef SPEEDLIGHT_LOAD
#define SPEEDLIGHT_LOAD(name) d.name = reinterpret_cast<decltype(d.name)>(library.symbol(SPEEDLIGHT_TEXT(name)));
  SPEEDLIGHT_DRIVER_EXTRAS(SPEEDLIGHT_LOAD)
#undef SPEEDLIGHT_LOAD
  return missing;
}

std::string open_driver(Driver& d) {
  const std::array<std::string, 2> names{"libcuda.so.1", "libcuda.so"};
  const platform::Library library = platform::Library::open(names);
  if (!library) {
    std::string why = library.error();
    std::ranges::replace(why, '\n', ';');
    return "no CUDA driver: " + why;
  }
  const std::string missing = load_functions(d, library);
  if (d.cuDriverGetVersion) d.cuDriverGetVersion(&d.version);
  if (d.version < driver_floor)
    return "the CUDA driver is too old: it supports " + driver_version_text(d.version) + ", must be CUDA 12.0 (driver 525) or newer";
  if (!missing.empty()) return "the CUDA driver " + library.name() + " lacks " + missing;
  if (const CUresult result = d.cuInit(0); result != CUDA_SUCCESS) return "the CUDA driver does not start: cuInit: " + describe(d, result);
  if (const CUresult result = d.cuDeviceGetCount(&d.devices); result != CUDA_SUCCESS)
    return "the CUDA driver finds no device: cuDeviceGetCount: " + describe(d, result);
  return d.devices > 0 ? "" : "the CUDA driver finds no device";
}

const Opened& opened() {
  static const Opened& once = *[] {  // never destroyed: calls may come while the process ends
    auto* o = new Opened;
    o->why = open_driver(o->driver);
    return o;
  }();
  return once;
}

}  // namespace

void Driver::fail(CUresult result, const char* call) const {
  const std::string text = std::string(call) + ": " + describe(*this, result);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw Error(Status::out_of_memory, text);
  if (is_sticky(result))
    throw Error(
        Status::cuda_error,
        text +
            ": already pending when this call began. A kernel that ran earlier in this context failed; the context can no longer be used");
  throw Error(Status::cuda_error, text);
}

std::string driver_version_text(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

const Driver& driver() {
  const Opened& o = opened();
  if (!o.why.empty()) throw Error(Status::no_driver, o.why);
  return o.driver;
}

const Driver* find_driver(std::string* why) {
  const Opened& o = opened();
  if (o.why.empty()) return &o.driver;
  *why = o.why;
  return nullptr;
}

}  // namespace speedlight::gpu
