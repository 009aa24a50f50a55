#include <array>
#include "gpu/bind.h"
#include "gpu/context.h"
#include "gpu/device.h"
#include "gpu/kernels.h"

namespace speedlight::gpu {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
static_assert(alignof(TensorMap) == alignof(CUtensorMap));

TensorMap encode(const Driver& d, const MapShape& shape) {
  TensorMap map{};
  if (shape.data == nullptr) return map;
  constexpr cuuint32_t element_strides[4] = {1, 1, 1, 1};
  const std::array<cuuint64_t, 4> sizes{shape.sizes[0], shape.sizes[1], shape.sizes[2], shape.sizes[3]};
  const std::array<cuuint64_t, 3> strides{shape.strides[0], shape.strides[1], shape.strides[2]};
  const CUresult result = d.cuTensorMapEncodeTiled(
      reinterpret_cast<CUtensorMap*>(&map), shape.bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, shape.data,
      sizes.data(), strides.data(), shape.box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  d.check(result, "cuTensorMapEncodeTiled");
  return map;
}

template <class Params>
void start(const Driver& d, const LoadedKernel& loaded, u32 grid, i32 threads, Params& params, CUstream stream) {
  void* arguments[] = {&params};
  d.check(d.cuLaunchKernel(reinterpret_cast<CUfunction>(loaded.kernel), grid, 1, 1, u32(threads), 1, 1, loaded.shared, stream, arguments,
                           nullptr),
          "cuLaunchKernel");
}

void start_forward(const Driver& d, const Plan& plan, const PlannedLaunch& launch, const LoadedKernel& loaded, const Pointers& pointers,
                   CUstream stream) {
  ForwardParams params = bind_forward(plan, pointers);
  const ForwardConfig& config = std::get<ForwardConfig>(launch.config);
  if (config.tuning.copy == Copy::bulk) {
    const MapShape q = bind_map(plan, pointers, Operand::q, config.query_rows());
    const MapShape k = bind_map(plan, pointers, Operand::k, config.tuning.keys),
                   v = bind_map(plan, pointers, Operand::v, config.tuning.keys);
    params.q_map = encode(d, q), params.q_map_batch = q.has_batch, params.q_map_head = q.has_head;
    params.k_map = encode(d, k), params.k_map_batch = k.has_batch, params.k_map_head = k.has_head;
    params.v_map = encode(d, v), params.v_map_batch = v.has_batch, params.v_map_head = v.has_head;
  }
  start(d, loaded, launch.grid, launch.threads, params, stream);
}

void add_maps(const Driver& d, const Plan& plan, const BackwardTuning& tuning, const Pointers& pointers, BackwardParams& params) {
  if (!tuning.bulk_loads) return;
  const MapShape q = bind_map(plan, pointers, Operand::q, tuning.rows), dout = bind_map(plan, pointers, Operand::dout, tuning.rows);
  params.q_map = encode(d, q), params.q_map_batch = q.has_batch, params.q_map_head = q.has_head;
  params.dout_map = encode(d, dout), params.dout_map_batch = dout.has_batch, params.dout_map_head = dout.has_head;
}

bool is_capturing(const Driver& d, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = d.cuStreamIsCapturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;  // the null stream, while a stream that it waits for is captured
  d.check(result, "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Loading code is among the calls that a capture anywhere in the process may forbid, though it records nothing.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& d) : d_(d) {
    d_.check(d_.cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode");
  }
  ~RelaxedCapture() { d_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& d_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

const Prepared& prepared_for_launch(const Driver& d, const Plan& plan, int ordinal, CUstream stream) {
  if (const Prepared* found = find_prepared(plan, ordinal)) return *found;
  if (is_capturing(d, stream))
    throw Error(Status::not_prepared, "stream is being captured and the plan is not prepared on device " + std::to_string(ordinal) +
                                          ": call prepare before the capture begins");
  const RelaxedCapture relaxed(d);
  return load_plan(plan, ordinal);
}

}  // namespace

void prepare(const Plan& plan, int ordinal) {
  const Driver& d = driver();
  const ContextGuard guard(d, ordinal);
  const RelaxedCapture relaxed(d);
  load_plan(plan, ordinal);
}

void launch(const Plan& plan, const Pointers& pointers, int ordinal, Stream handle) {
  check_pointers(plan, pointers);
  const Driver& d = driver();
  const auto stream = static_cast<CUstream>(handle);
  const ContextGuard guard(d, ordinal, stream);
  if (plan.launches.empty()) return;
  const Prepared& prepared = prepared_for_launch(d, plan, ordinal, stream);
  BackwardParams backward;
  if (plan.pass == Pass::backward) backward = bind_backward(plan, pointers);
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const PlannedLaunch& launch = plan.launches[i];
    const LoadedKernel& loaded = prepared.launches[i];
    if (launch.step == Step::forward) {
      start_forward(d, plan, launch, loaded, pointers, stream);
    } else if (launch.step == Step::pack_inputs || launch.step == Step::unpack_outputs) {
      PackParams pack = bind_pack(plan, launch, pointers);
      start(d, loaded, launch.grid, launch.threads, pack, stream);
    } else {
      if (const auto* config = std::get_if<BackwardConfig>(&launch.config)) add_maps(d, plan, config->tuning, pointers, backward);
      start(d, loaded, launch.grid, launch.threads, backward, stream);
    }
  }
}

}  // namespace speedlight::gpu
