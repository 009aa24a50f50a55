// The same kernels through the driver. Kept apart from kernels.h's host form: Arguments comes from there all the same, as plain data.
#include <cstring>

#include "conformance/kernels.h"
#include "conformance/run.h"
#include "gpu/context.h"
#include "gpu/driver.h"
#include "tests/gpu/device_memory.h"

namespace speedlight::conformance {
namespace {

using gpu::driver;

// Code for the device itself, else older code of its generation.
const Machine& machine_for(int major, int minor, const std::string& name) {
  const Machine* best = nullptr;
  for (int i = 0; i < machine_count; ++i) {
    const Machine& m = machines[i];
    if (m.target / 10 == major && m.target % 10 <= minor && (!best || m.target > best->target)) best = &m;
  }
  if (!best)
    throw Error(Status::unknown_device, "no conformance kernels are compiled for " + name + " (compute capability " +
                                            std::to_string(major) + "." + std::to_string(minor) +
                                            "): add its target in tests/conformance/CMakeLists.txt");
  return *best;
}

TensorMap encode(const BulkTensor& t, void* base) {
  TensorMap map{};
  const cuuint64_t sizes[4] = {cuuint64_t(t.dim), cuuint64_t(t.rows), cuuint64_t(t.heads), cuuint64_t(t.batch)};
  const cuuint64_t strides[3] = {cuuint64_t(t.row_stride) * 2, cuuint64_t(t.head_stride) * 2, cuuint64_t(t.batch_stride) * 2};
  const cuuint32_t box[4] = {64, cuuint32_t(t.box_rows), 1, 1}, steps[4] = {1, 1, 1, 1};
  driver().check(driver().cuTensorMapEncodeTiled(reinterpret_cast<CUtensorMap*>(&map), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, base, sizes,
                                                 strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "cuTensorMapEncodeTiled");
  return map;
}

}  // namespace

bool has_gpu(std::string* why) { return gpu::find_driver(why) != nullptr; }

Gpu::Gpu(int ordinal) : ordinal_(ordinal) {
  const gpu::Driver& d = driver();
  const gpu::ContextGuard guard(d, ordinal);
  CUdevice device;
  char name[256] = "";
  int major = 0, minor = 0;
  d.check(d.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  d.check(d.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  d.check(d.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "cuDeviceGetAttribute");
  d.check(d.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "cuDeviceGetAttribute");
  name_ = name;
  CUlibrary library;
  d.check(d.cuLibraryLoadData(&library, machine_for(major, minor, name_).code, nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cuLibraryLoadData");
  library_ = library;
}

std::vector<u8> Gpu::run(const Group& group) const {
  const gpu::Driver& d = driver();
  const gpu::ContextGuard guard(d, ordinal_);
  const gpu::DeviceMemory input(group.input, ordinal_), output(std::size_t(group.output_bytes), ordinal_);  // output: all 0xff
  Arguments a{};
  a.input = static_cast<const u8*>(input.get()), a.output = static_cast<u8*>(output.get());
  if (group.bulk) {
    const BulkTensor& t = *group.bulk;
    a.boxes = t.boxes, a.slabs = t.slabs, a.box_rows = t.box_rows;
    a.map = encode(t, static_cast<u8*>(input.get()) + t.offset);
  }
  CUkernel kernel;
  d.check(d.cuLibraryGetKernel(&kernel, static_cast<CUlibrary>(library_), ("conformance_" + group.kernel).c_str()), "cuLibraryGetKernel");
  void* arguments[] = {&a};
  d.check(d.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), group.grid, 1, 1, u32(group.threads), 1, 1, u32(group.shared_bytes),
                           nullptr, arguments, nullptr),
          "cuLaunchKernel");
  return output.read<u8>();
}

}  // namespace speedlight::conformance
