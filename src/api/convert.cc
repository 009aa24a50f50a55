#include "api/convert.h"

#include <fmt/format.h>

#include <cstdlib>

#include "problem/error.h"

namespace speedlight::api {
namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(Status::invalid_argument, fmt::format(text, std::forward<Args>(args)...));
}

DType to_dtype(int32_t given, const char* name, bool fp32_allowed) {
  switch (given) {
    case SPEEDLIGHT_FP16: return DType::fp16;
    case SPEEDLIGHT_BF16: return DType::bf16;
    case SPEEDLIGHT_FP32:
      if (fp32_allowed) return DType::fp32;
  }
  refuse("{} is {}; allowed: {} (fp16), {} (bf16){}", name, given, int(SPEEDLIGHT_FP16), int(SPEEDLIGHT_BF16),
         fp32_allowed ? fmt::format(", {} (fp32)", int(SPEEDLIGHT_FP32)) : "");
}

i64 product(i64 a, i64 b, const char* name) {
  i64 result;
  if (__builtin_mul_overflow(a, b, &result)) refuse("problem.{} has more elements than 64 bits can count", name);
  return result;
}

struct Shape {
  i64 rows, heads, dim;
};

TensorLayout to_layout(const speedlight_layout& given, const char* name, Shape shape, DType dtype) {
  TensorLayout layout;
  if (given.dtype == SPEEDLIGHT_DEFAULT) {
    if (given.batch_stride || given.row_stride || given.head_stride) {
      refuse("problem.{0} has strides ({1}, {2}, {3}) but dtype 0 (default, contiguous): set problem.{0}.dtype", name, given.batch_stride,
             given.row_stride, given.head_stride);
    }
    layout.dtype = dtype;
    layout.head = shape.dim;
    layout.row = product(shape.heads, shape.dim, name);
    layout.batch = product(shape.rows, layout.row, name);
  } else {
    layout.dtype = to_dtype(given.dtype, fmt::format("problem.{}.dtype", name).c_str(), true);
    layout.batch = given.batch_stride;
    layout.row = given.row_stride;
    layout.head = given.head_stride;
  }
  layout.alignment = given.alignment == 0 ? 16 : given.alignment;
  return layout;
}

bool to_flag(int32_t given, const char* name) {
  if (given != 0 && given != 1) refuse("problem.{} is {}; allowed: 0, 1", name, given);
  return given == 1;
}

Window to_window(const speedlight_problem& given) {
  if (given.mask == SPEEDLIGHT_MASK_WINDOW) return {given.window_left, given.window_right};
  if (given.mask != SPEEDLIGHT_MASK_NONE && given.mask != SPEEDLIGHT_MASK_CAUSAL) {
    refuse("problem.mask is {}; allowed: {} (none), {} (causal), {} (window)", given.mask, int(SPEEDLIGHT_MASK_NONE),
           int(SPEEDLIGHT_MASK_CAUSAL), int(SPEEDLIGHT_MASK_WINDOW));
  }
  if (given.window_left || given.window_right) {
    refuse("problem.window_left and window_right are {} and {}, which only SPEEDLIGHT_MASK_WINDOW reads; without it they must be 0",
           given.window_left, given.window_right);
  }
  return given.mask == SPEEDLIGHT_MASK_CAUSAL ? Window{Window::unlimited, 0} : Window{};
}

void set_later_fields(const speedlight_problem& given, Problem& problem) {
  if (given.sequence_layout != 0) refuse("problem.sequence_layout is {}; allowed: 0 (padded)", given.sequence_layout);
  if (given.determinism < 0 || given.determinism > 2) {
    refuse("problem.determinism is {}; allowed: 0 (none), 1 (run to run), 2 (batch invariant)", given.determinism);
  }
  problem.determinism = static_cast<Determinism>(given.determinism);
  problem.accumulate = to_flag(given.accumulate, "accumulate");
  problem.softcap = given.softcap;
  problem.dropout = given.dropout;
}

}  // namespace

void check_struct(const void* given, size_t size, size_t known, const char* name) {
  if (!given) refuse("{} is NULL", name);
  if (size < known) refuse("{}.struct_size is {}; allowed: at least {} (set it to sizeof the struct)", name, size, known);
  constexpr size_t most = 1 << 16;  // no version will be longer: a size beyond it is an unset field
  if (size > most) refuse("{}.struct_size is {}; allowed: at most {} (set it to sizeof the struct)", name, size, most);
  for (size_t i = known; i < size; i++) {
    if (static_cast<const unsigned char*>(given)[i] != 0) {
      throw Error(Status::unsupported, fmt::format("{} has a field at byte {} that this version ({}) does not know and that is not zero",
                                                   name, i, SPEEDLIGHT_VERSION));
    }
  }
}

Problem to_problem(const speedlight_problem* pointer) {
  const speedlight_problem given = read_struct(pointer, "problem");
  Problem problem;
  problem.batch = given.batch, problem.heads_q = given.heads_q, problem.heads_kv = given.heads_kv;
  problem.seqlen_q = given.seqlen_q, problem.seqlen_k = given.seqlen_k;
  problem.head_dim = given.head_dim, problem.value_dim = given.value_dim;
  problem.dtype = to_dtype(given.dtype, "problem.dtype", false);
  if (given.wanted & ~SPEEDLIGHT_WANT_ALL) refuse("problem.wanted is {:#x}; allowed: the bits in {:#x}", given.wanted, SPEEDLIGHT_WANT_ALL);
  problem.want_lse = given.wanted & SPEEDLIGHT_WANT_LSE;
  problem.want_dq = given.wanted & SPEEDLIGHT_WANT_DQ;
  problem.want_dk = given.wanted & SPEEDLIGHT_WANT_DK;
  problem.want_dv = given.wanted & SPEEDLIGHT_WANT_DV;

  const Shape query = {given.seqlen_q, given.heads_q, given.head_dim}, key = {given.seqlen_k, given.heads_kv, given.head_dim};
  const Shape value = {given.seqlen_k, given.heads_kv, given.value_dim}, output = {given.seqlen_q, given.heads_q, given.value_dim};
  problem.q = to_layout(given.q, "q", query, problem.dtype);
  problem.k = to_layout(given.k, "k", key, problem.dtype);
  problem.v = to_layout(given.v, "v", value, problem.dtype);
  problem.out = to_layout(given.out, "out", output, problem.dtype);
  problem.dout = to_layout(given.dout, "dout", output, problem.dtype);
  problem.dq = to_layout(given.dq, "dq", query, problem.dtype);
  problem.dk = to_layout(given.dk, "dk", key, problem.dtype);
  problem.dv = to_layout(given.dv, "dv", value, problem.dtype);

  problem.scale = given.scale;
  problem.window = to_window(given);
  problem.has_dlse = to_flag(given.has_dlse, "has_dlse");
  set_later_fields(given, problem);
  return problem;
}

Pass to_pass(speedlight_pass given) {
  if (given == SPEEDLIGHT_FORWARD) return Pass::forward;
  if (given == SPEEDLIGHT_BACKWARD) return Pass::backward;
  refuse("pass is {}; allowed: {} (forward), {} (backward)", int(given), int(SPEEDLIGHT_FORWARD), int(SPEEDLIGHT_BACKWARD));
}

Target to_target(const speedlight_options* pointer) {
  const speedlight_options given = read_struct(pointer, "options");
  Target target;
  if (given.device == SPEEDLIGHT_CPU) {
    if (given.ordinal != 0) refuse("options.ordinal is {}; allowed for the CPU: 0", given.ordinal);
    if (given.card && *given.card) refuse("options.card is \"{}\"; the CPU has no card, allowed: NULL or \"\"", given.card);
    return target;
  }
  if (given.device != SPEEDLIGHT_CUDA) {
    refuse("options.device is {}; allowed: {} (CPU), {} (CUDA)", given.device, int(SPEEDLIGHT_CPU), int(SPEEDLIGHT_CUDA));
  }
  if (given.ordinal < -1) refuse("options.ordinal is {}; allowed: -1 (the current device) or a device's number", given.ordinal);
  target.cuda = true;
  if (given.card) {
    target.card = given.card;
  } else if (const char* card = std::getenv("SPEEDLIGHT_CARD")) {
    target.card = card;
  }
  target.ordinal = given.ordinal == -1 ? gpu::current_device() : given.ordinal;
  return target;
}

Pointers to_pointers(const speedlight_tensors* pointer) {
  const speedlight_tensors given = read_struct(pointer, "tensors");
  return {given.q,    given.k,  given.v,  given.out, given.lse,       given.dout,
          given.dlse, given.dq, given.dk, given.dv,  given.workspace, given.workspace_bytes};
}

void align_to(Problem& problem, const Pointers& pointers) {
  const auto align = [](TensorLayout& layout, const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    layout.alignment = address % 16 == 0 ? 16 : static_cast<u32>(address & -address);
  };
  align(problem.q, pointers.q), align(problem.k, pointers.k), align(problem.v, pointers.v), align(problem.out, pointers.out);
  align(problem.dout, pointers.dout), align(problem.dq, pointers.dq), align(problem.dk, pointers.dk), align(problem.dv, pointers.dv);
}

}  // namespace speedlight::api
