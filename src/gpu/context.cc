#include "gpu/context.h"
#include <map>
#include <mutex>

namespace speedlight::gpu {
namespace {

// Retained once a device, and kept: releasing the last reference would destroy what our kernels and pools live in.
CUcontext primary_context(const Driver& d, int ordinal) {
  static std::mutex mutex;
  static std::map<int, CUcontext> retained;
  const std::lock_guard lock(mutex);
  CUcontext& context = retained[ordinal];
  if (context == nullptr) {
    CUdevice device;
    d.check(d.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    d.check(d.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  }
  return context;
}

bool is_real(CUstream stream) { return stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD; }

}  // namespace

void check_ordinal(const Driver& d, int ordinal) {
  if (ordinal < 0 || ordinal >= d.devices)
    throw Error(Status::unknown_device,
                "device is " + std::to_string(ordinal) + ": must be at least 0 and below " + std::to_string(d.devices));
}

ContextGuard::ContextGuard(const Driver& driver, int ordinal, CUstream stream) : driver_(driver) {
  check_ordinal(driver, ordinal);
  if (is_real(stream)) {
    CUcontext current = nullptr, own = nullptr;
    const CUresult result = driver_.cuStreamGetCtx(stream, &own);
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
      throw Error(Status::invalid_argument, "stream is not a stream of a living context");
    driver_.check(result, "cuStreamGetCtx");
    driver_.check(driver_.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (own != current) push(own);
    CUdevice device = -1;
    const CUresult found = driver_.cuCtxGetDevice(&device);
    if (pushed_ && (found != CUDA_SUCCESS || device != ordinal)) driver_.cuCtxPopCurrent(&current);  // no destructor runs after a throw
    driver_.check(found, "cuCtxGetDevice");
    if (device != ordinal)
      throw Error(Status::invalid_argument, "stream belongs to device " + std::to_string(device) + ": must belong to device " +
                                                std::to_string(ordinal) + ", on which the call is made");
  } else if (current_device() != ordinal) {
    push(primary_context(driver_, ordinal));
  }
}

void ContextGuard::push(CUcontext context) {
  driver_.check(driver_.cuCtxPushCurrent(context), "cuCtxPushCurrent");
  pushed_ = true;
}

int ContextGuard::current_device() const {
  CUcontext current = nullptr;
  driver_.check(driver_.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current == nullptr) return -1;
  CUdevice device;
  driver_.check(driver_.cuCtxGetDevice(&device), "cuCtxGetDevice");  // a CUdevice is the device's ordinal
  return device;
}

}  // namespace speedlight::gpu
