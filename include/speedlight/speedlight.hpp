// Speedlight for C++17: a header over the C ABI of speedlight.h. Errors are exceptions with a code; no CUDA types.
//
//   using namespace speedlight;
//   Tensor q{q_data, DType::bf16, {2, 1024, 16, 128}}, k{...}, v{...}, out{...};
//   Attention call{q, k, v, out, lse_data};
//   call.mask = Mask::causal();
//   forward(call, Device::cuda(0), stream);
//   call.dout = ...; call.dq = ...; call.dk = ...; call.dv = ...;
//   backward(call, Device::cuda(0), stream);
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "speedlight/speedlight.h"

namespace speedlight {
inline namespace v0 {

// What every function here throws. code() says what kind of error, what() which argument, its value and what is allowed.
class Error : public std::runtime_error {
 public:
  Error(speedlight_status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  speedlight_status code() const noexcept { return code_; }

 private:
  speedlight_status code_;
};

inline void check(speedlight_status status) {
  if (status != SPEEDLIGHT_OK) throw Error(status, std::string(speedlight_status_name(status)) + ": " + speedlight_last_error());
}

enum class DType : std::int32_t { fp16 = SPEEDLIGHT_FP16, bf16 = SPEEDLIGHT_BF16, fp32 = SPEEDLIGHT_FP32 };

// A view of memory of shape (batch, seqlen, heads, dim); strides in elements, the last dimension is contiguous. Empty: not given.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::bf16;
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 3> strides{};  // of batch, seqlen, heads

  Tensor() = default;
  Tensor(void* pointer, DType type, std::array<std::int64_t, 4> dims)
      : Tensor(pointer, type, dims, {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3]}) {}
  Tensor(void* pointer, DType type, std::array<std::int64_t, 4> dims, std::array<std::int64_t, 3> steps)
      : data(pointer), dtype(type), shape(dims), strides(steps), given_(true) {}
  // Inputs may be const: nothing writes to q, k, v, dout.
  Tensor(const void* pointer, DType type, std::array<std::int64_t, 4> dims) : Tensor(const_cast<void*>(pointer), type, dims) {}

  bool given() const noexcept { return given_; }  // an empty tensor (a dimension of 0) may be given with a null pointer

 private:
  bool given_ = false;
};

struct Mask {
  speedlight_mask kind = SPEEDLIGHT_MASK_NONE;
  std::int64_t left = 0, right = 0;

  static Mask none() { return {}; }
  static Mask causal() { return {SPEEDLIGHT_MASK_CAUSAL, 0, 0}; }
  // Keys from own - left to own + right, inclusive; SPEEDLIGHT_UNLIMITED: no bound.
  static Mask window(std::int64_t left, std::int64_t right) { return {SPEEDLIGHT_MASK_WINDOW, left, right}; }
};

// Where a call runs.
class Device {
 public:
  static Device cpu() { return Device(SPEEDLIGHT_CPU, 0); }
  static Device cuda(int ordinal = -1) { return Device(SPEEDLIGHT_CUDA, ordinal); }  // -1: the current one
  // Plans for another card than the GPU's own; see speedlight_options.card.
  Device with_card(std::string name) const {
    Device device = *this;
    device.card_ = std::move(name);
    device.has_card_ = true;
    return device;
  }
  speedlight_options options() const {  // valid as long as this object
    speedlight_options options{};
    options.struct_size = sizeof options;
    options.device = kind_;
    options.ordinal = ordinal_;
    options.card = has_card_ ? card_.c_str() : nullptr;
    return options;
  }

 private:
  Device(speedlight_device_kind kind, int ordinal) : kind_(kind), ordinal_(ordinal) {}
  speedlight_device_kind kind_;
  int ordinal_;
  std::string card_;
  bool has_card_ = false;
};

// One call: tensors and what to compute from them. Forward reads q, k, v; backward out and lse (of the forward) and dout as well, and
// writes those of dq, dk, dv that are given.
struct Attention {
  Tensor q, k, v, out;
  float* lse = nullptr;  // (batch, heads_q, seqlen_q); forward writes it unless null
  Tensor dout, dq, dk, dv;
  const float* dlse = nullptr;  // backward: gradient of the LSE, or null
  Mask mask;
  float scale = NAN;  // softmax scale; NAN: 1 / sqrt(head_dim)

  speedlight_problem problem() const;
  speedlight_tensors tensors() const;
};

// A problem's plan for one pass on one device: make it once, run it often, capture it in a CUDA graph.
class Plan {
 public:
  static Plan forward(const Attention& call, const Device& device) { return Plan(call, SPEEDLIGHT_FORWARD, device); }
  static Plan backward(const Attention& call, const Device& device) { return Plan(call, SPEEDLIGHT_BACKWARD, device); }

  std::int64_t workspace_size() const {
    std::int64_t bytes = 0;
    check(speedlight_plan_workspace_size(plan_.get(), &bytes));
    return bytes;
  }
  std::string explain() const {
    const char* text = nullptr;
    check(speedlight_plan_explain(plan_.get(), &text));
    return text;
  }
  void prepare() const { check(speedlight_prepare(plan_.get())); }

  // The pointers of `call` are used; its shapes must be the planned ones.
  void run(const Attention& call, void* workspace = nullptr, std::int64_t workspace_bytes = 0, void* stream = nullptr) const {
    speedlight_tensors tensors = call.tensors();
    tensors.workspace = workspace;
    tensors.workspace_bytes = workspace_bytes;
    check(pass_ == SPEEDLIGHT_FORWARD ? speedlight_forward(plan_.get(), &tensors, stream)
                                      : speedlight_backward(plan_.get(), &tensors, stream));
  }

 private:
  struct Destroy {
    void operator()(speedlight_plan* plan) const { speedlight_plan_destroy(plan); }
  };
  Plan(const Attention& call, speedlight_pass pass, const Device& device) : pass_(pass) {
    speedlight_problem problem = call.problem();
    const speedlight_tensors tensors = call.tensors();
    const auto align = [](speedlight_layout& layout, const void* pointer) {
      const auto address = reinterpret_cast<std::uintptr_t>(pointer);
      layout.alignment = address % 16 == 0 ? 16 : static_cast<std::uint32_t>(address & (~address + 1));
    };
    align(problem.q, tensors.q), align(problem.k, tensors.k), align(problem.v, tensors.v), align(problem.out, tensors.out);
    align(problem.dout, tensors.dout), align(problem.dq, tensors.dq), align(problem.dk, tensors.dk), align(problem.dv, tensors.dv);
    const speedlight_options options = device.options();
    speedlight_plan* plan = nullptr;
    check(speedlight_plan_create(&problem, pass, &options, &plan));
    plan_.reset(plan);
  }
  std::unique_ptr<speedlight_plan, Destroy> plan_;
  speedlight_pass pass_;
};

// Plan (or find the plan of an equal earlier call), get a workspace from the library's pool, run.
inline void forward(const Attention& call, const Device& device, void* stream = nullptr) {
  const speedlight_problem problem = call.problem();
  const speedlight_options options = device.options();
  const speedlight_tensors tensors = call.tensors();
  check(speedlight_attention_forward(&problem, &options, &tensors, nullptr, stream));
}

inline void backward(const Attention& call, const Device& device, void* stream = nullptr) {
  const speedlight_problem problem = call.problem();
  const speedlight_options options = device.options();
  const speedlight_tensors tensors = call.tensors();
  check(speedlight_attention_backward(&problem, &options, &tensors, nullptr, stream));
}

inline const char* version() { return speedlight_version(); }

namespace detail {

inline speedlight_layout layout_of(const Tensor& tensor, const char* name, std::array<std::int64_t, 4> shape) {
  speedlight_layout layout{};
  if (!tensor.given()) return layout;
  if (tensor.shape != shape) {
    const auto text = [](const std::array<std::int64_t, 4>& dims) {
      std::string result = "(";
      for (std::size_t i = 0; i < dims.size(); i++) result += (i ? ", " : "") + std::to_string(dims[i]);
      return result + ")";
    };
    throw Error(SPEEDLIGHT_INVALID_ARGUMENT, std::string(name) + " has shape " + text(tensor.shape) + "; allowed: " + text(shape));
  }
  layout.dtype = static_cast<std::int32_t>(tensor.dtype);
  layout.batch_stride = tensor.strides[0];
  layout.row_stride = tensor.strides[1];
  layout.head_stride = tensor.strides[2];
  return layout;
}

}  // namespace detail

inline speedlight_problem Attention::problem() const {
  for (const auto& [tensor, name] : {std::pair{&q, "q"}, {&k, "k"}, {&v, "v"}, {&out, "out"}}) {
    if (!tensor->given()) throw Error(SPEEDLIGHT_INVALID_ARGUMENT, std::string(name) + " is not given");
  }
  speedlight_problem p{};
  check(speedlight_problem_init(&p, sizeof p, static_cast<speedlight_dtype>(q.dtype), q.shape[0], q.shape[1], k.shape[1], q.shape[2],
                                k.shape[2], q.shape[3]));
  p.value_dim = v.shape[3];
  const std::array<std::int64_t, 4> query = q.shape, key = {p.batch, p.seqlen_k, p.heads_kv, p.head_dim},
                                    value = {p.batch, p.seqlen_k, p.heads_kv, p.value_dim},
                                    output = {p.batch, p.seqlen_q, p.heads_q, p.value_dim};
  p.q = detail::layout_of(q, "q", query), p.k = detail::layout_of(k, "k", key), p.v = detail::layout_of(v, "v", value);
  p.out = detail::layout_of(out, "out", output), p.dout = detail::layout_of(dout, "dout", output);
  p.dq = detail::layout_of(dq, "dq", query), p.dk = detail::layout_of(dk, "dk", key), p.dv = detail::layout_of(dv, "dv", value);
  p.wanted = (lse ? SPEEDLIGHT_WANT_LSE : 0) | (dq.given() ? SPEEDLIGHT_WANT_DQ : 0) | (dk.given() ? SPEEDLIGHT_WANT_DK : 0) |
             (dv.given() ? SPEEDLIGHT_WANT_DV : 0);
  p.mask = mask.kind;
  p.window_left = mask.left;
  p.window_right = mask.right;
  p.has_dlse = dlse != nullptr;
  if (!std::isnan(scale)) p.scale = scale;
  return p;
}

inline speedlight_tensors Attention::tensors() const {
  speedlight_tensors t{};
  t.struct_size = sizeof t;
  t.q = q.data, t.k = k.data, t.v = v.data, t.out = out.data, t.lse = lse;
  t.dout = dout.data, t.dlse = dlse, t.dq = dq.data, t.dk = dk.data, t.dv = dv.data;
  return t;
}

}  // namespace v0
}  // namespace speedlight
