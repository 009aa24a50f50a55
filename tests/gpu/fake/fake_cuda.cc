#include "fake_cuda.h"
#include <algorithm>
#include <cstring>
#include <string>

namespace {

struct Kernel {
  std::string name;
  int allowed = 48 * 1024;
};
thread_local std::vector<CUcontext> stack;
constexpr int shared_sm = 228 * 1024, reserved = 1024;

CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(std::uintptr_t(0x1000 + device)); }
int device_of(CUcontext context) { return int(reinterpret_cast<std::uintptr_t>(context)) - 0x1000; }
int device_of(CUstream stream) { return int(reinterpret_cast<std::uintptr_t>(stream)) - 0x2000; }

int attribute(CUdevice_attribute a) {
  switch (a) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return fake_cuda()->capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return fake_cuda()->capability % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return shared_sm - reserved;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return shared_sm;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return reserved;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
    default: return 1;
  }
}

}  // namespace

extern "C" {

FakeCuda* fake_cuda() {
  static FakeCuda& one = *new FakeCuda;
  return &one;
}

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = fake_cuda()->version, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult e, const char** text) {
  return *text = e == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR", CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "as the test asked", CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = fake_cuda()->devices, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) { return std::strncpy(name, "Fake H200", std::size_t(size)), CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute a, CUdevice) { return *value = attribute(a), CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) { return *context = context_of(device), CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = stack.empty() ? nullptr : stack.back(), CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) {
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  return *device = device_of(stack.back()), CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) { return stack.push_back(context), CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  return *context = stack.back(), stack.pop_back(), CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) { return *context = context_of(device_of(stream)), CUDA_SUCCESS; }
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  return *status = fake_cuda()->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return std::swap(*mode, now), CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  const bool elf = std::memcmp(code, "\177ELF", 4) == 0;
  const bool ptx = !elf && std::strstr(static_cast<const char*>(code), "\n.target sm_80\n") != nullptr;
  if (stack.empty() || (!elf && !ptx)) return CUDA_ERROR_INVALID_IMAGE;
  if (ptx && fake_cuda()->version < 12080) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;  // that of NVRTC 12.8
  const std::lock_guard lock(fake_cuda()->mutex);
  ++fake_cuda()->libraries;
  fake_cuda()->from_ptx += ptx;
  *library = reinterpret_cast<CUlibrary>(new Kernel);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  reinterpret_cast<Kernel*>(library)->name = name;
  return *kernel = reinterpret_cast<CUkernel>(library), CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuKernelSetAttribute(CUfunction_attribute, int value, CUkernel kernel, CUdevice) {
  if (value > shared_sm - reserved) return CUDA_ERROR_INVALID_VALUE;
  return reinterpret_cast<Kernel*>(kernel)->allowed = value, CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t shared) {
  return *blocks = std::min(2048 / threads, shared_sm / (int(shared) + reserved)), CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned shared,
                        CUstream stream, void** arguments, void**) {
  FakeCuda& f = *fake_cuda();
  if (f.launch_result != CUDA_SUCCESS) return f.launch_result;
  const Kernel& kernel = *reinterpret_cast<Kernel*>(function);
  if (grid == 0 || y != 1 || z != 1 || !arguments || stack.empty() || int(shared) > kernel.allowed) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(f.mutex);
  f.launches.push_back({kernel.name.c_str(), grid, threads, shared, stream, stack.back()});
  return CUDA_SUCCESS;
}
// The documented limits of a tiled map without interleave.
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* sizes,
                                const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  bool legal = rank >= 3 && rank <= 5 && reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  for (cuuint32_t i = 0; i < rank; ++i)
    legal = legal && sizes[i] >= 1 && sizes[i] <= 1ull << 32 && box[i] >= 1 && box[i] <= 256 && steps[i] == 1;
  for (cuuint32_t i = 0; i + 1 < rank; ++i) legal = legal && strides[i] % 16 == 0 && strides[i] < 1ull << 40;
  if (!legal || (swizzle == CU_TENSOR_MAP_SWIZZLE_128B && box[0] * 2 > 128)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(fake_cuda()->mutex);
  return fake_cuda()->maps.push_back(type), CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* p) {
  return *pool = reinterpret_cast<CUmemoryPool>(std::uintptr_t(1 + p->location.id)), CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool, CUstream) {
  if (bytes > 1ull << 40) return CUDA_ERROR_OUT_OF_MEMORY;
  return *pointer = 0x700000, CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr, CUstream) { return CUDA_SUCCESS; }
}
