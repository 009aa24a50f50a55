// Stream-ordered memory from a pool of our own, so that no other user of the device's default pool changes what we keep.
#include <map>
#include <mutex>
#include "gpu/context.h"
#include "gpu/device.h"

namespace speedlight::gpu {
namespace {

CUmemoryPool pool_of(const Driver& d, int ordinal) {
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<int, CUmemoryPool>;  // never destroyed: calls may come while the process ends
  const std::lock_guard lock(mutex);
  CUmemoryPool& pool = pools[ordinal];
  if (pool != nullptr) return pool;
  CUdevice device;
  int supported = 0;
  d.check(d.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  d.check(d.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device), "cuDeviceGetAttribute");
  if (!supported)
    throw Error(Status::unsupported,
                "device " + std::to_string(ordinal) + " has no stream-ordered memory: pass a workspace or an allocator");
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemoryPool made;
  d.check(d.cuMemPoolCreate(&made, &properties), "cuMemPoolCreate");
  cuuint64_t keep = cuuint64_t(256) << 20;  // bytes that a synchronisation leaves with us, for the next call
  d.check(d.cuMemPoolSetAttribute(made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), "cuMemPoolSetAttribute");
  return pool = made;
}

}  // namespace

void* allocate(i64 bytes, int ordinal, Stream handle) {
  const Driver& d = driver();
  const auto stream = static_cast<CUstream>(handle);
  const ContextGuard guard(d, ordinal, stream);
  CUdeviceptr pointer = 0;
  const CUresult result = d.cuMemAllocFromPoolAsync(&pointer, std::size_t(larger<i64>(bytes, 1)), pool_of(d, ordinal), stream);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw Error(Status::out_of_memory,
                "out of memory on device " + std::to_string(ordinal) + ": " + std::to_string(bytes) + " bytes were asked for");
  d.check(result, "cuMemAllocFromPoolAsync");
  return reinterpret_cast<void*>(pointer);
}

void release(void* pointer, int ordinal, Stream handle) {
  if (pointer == nullptr) return;
  const Driver& d = driver();
  const auto stream = static_cast<CUstream>(handle);
  const ContextGuard guard(d, ordinal, stream);
  d.check(d.cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(pointer), stream), "cuMemFreeAsync");
}

}  // namespace speedlight::gpu
