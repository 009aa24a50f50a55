// The CUDA driver: libcuda opened at run time, and the functions of it that we call. Nothing links against CUDA.
#pragma once
#include <cuda.h>
#include <string>
#include "problem/error.h"

namespace speedlight::gpu {

// Functions that every supported driver has (12.0 on).
// clang-format off
#define SPEEDLIGHT_DRIVER_FUNCTIONS(X)                                                                                              \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                                             \
  X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain)                         \
  X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxCreate) X(cuCtxDestroy) X(cuCtxSynchronize)    \
  X(cuLibraryLoadData) X(cuLibraryGetKernel) X(cuKernelGetFunction) X(cuKernelSetAttribute)                   \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuLaunchKernel) X(cuTensorMapEncodeTiled)                                        \
  X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamGetCtx)                       \
  X(cuStreamIsCapturing) X(cuStreamBeginCapture)                                                                                    \
  X(cuStreamEndCapture) X(cuThreadExchangeStreamCaptureMode) X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuGraphExecDestroy)  \
  X(cuGraphDestroy) X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime)                 \
  X(cuMemAlloc) X(cuMemFree) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)                          \
  X(cuMemPoolCreate) X(cuMemPoolSetAttribute) X(cuMemAllocFromPoolAsync) X(cuMemFreeAsync)
// clang-format on
// Functions of newer drivers; null where absent.
#define SPEEDLIGHT_DRIVER_EXTRAS(X) X(cuFuncLoad)

struct Driver {
#define SPEEDLIGHT_MEMBER(name) decltype(&::name) name = nullptr;
  SPEEDLIGHT_DRIVER_FUNCTIONS(SPEEDLIGHT_MEMBER)
  SPEEDLIGHT_DRIVER_EXTRAS(SPEEDLIGHT_MEMBER)
#undef SPEEDLIGHT_MEMBER
  int version = 0;  // 12080 = CUDA 12.8
  int devices = 0;

  // Throws Error(out_of_memory or cuda_error) that names the call unless `result` is success. An error that an earlier kernel left in the
  // context, which no later call can succeed in, is named as such.
  void check(CUresult result, const char* call) const {
    if (result != CUDA_SUCCESS) fail(result, call);
  }
  [[noreturn]] void fail(CUresult result, const char* call) const;
};

constexpr int driver_floor = 12000;            // driver 525; loads the shipped code of every target but sm_120
constexpr int driver_floor_blackwell = 12080;  // driver 570, for compute capability 12.x
std::string driver_version_text(int version);  // "CUDA 12.8"

// Opens and initialises the driver at the first call. Throws Error(no_driver) when there is none, it is too old or it finds no device.
const Driver& driver();
// The same without throwing: null, and why.
const Driver* find_driver(std::string* why);

}  // namespace speedlight::gpu
