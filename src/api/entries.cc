// The entries of the C ABI. Each translates, calls one function of a room, and lets nothing out but a status.
#include <cmath>
#include <utility>

#include "api/guard.h"
#include "api/plan_handle.h"

namespace {

using namespace speedlight;

[[noreturn]] void refuse(const char* text) { throw Error(Status::invalid_argument, text); }

// Memory for one call, from the caller's allocator or the device's pool; given back in stream order.
class Workspace {
 public:
  Workspace(const speedlight_plan& plan, const speedlight_allocator* allocator, void* stream)
      : ordinal_(plan.target.ordinal), stream_(stream), bytes_(plan.plan.workspace.total) {
    if (allocator) {
      allocator_ = api::read_struct(allocator, "allocator");
      if (!allocator_.allocate) refuse("allocator.allocate is NULL");
      if (!allocator_.release) refuse("allocator.release is NULL");
    }
    if (bytes_ == 0) return;
    pointer_ = allocator ? allocator_.allocate(allocator_.user, bytes_, ordinal_, stream) : gpu::allocate(bytes_, ordinal_, stream);
    if (!pointer_) {
      throw Error(Status::out_of_memory, "allocator.allocate returned NULL for a workspace of " + std::to_string(bytes_) + " bytes");
    }
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    try {
      if (pointer_) give_back();
    } catch (...) {  // the call's own error, if any, says more
    }
  }

  void give_back() {
    void* pointer = std::exchange(pointer_, nullptr);
    if (!pointer) return;
    if (allocator_.release) {
      allocator_.release(allocator_.user, pointer, ordinal_, stream_);
    } else {
      gpu::release(pointer, ordinal_, stream_);
    }
  }
  void* pointer() const { return pointer_; }
  i64 bytes() const { return bytes_; }

 private:
  speedlight_allocator allocator_ = {};
  int ordinal_;
  void* stream_;
  i64 bytes_;
  void* pointer_ = nullptr;
};

void run_planned(const speedlight_plan* plan, Pass pass, const speedlight_tensors* tensors, void* stream) {
  if (!plan) refuse("plan is NULL");
  if (plan->plan.pass != pass)
    refuse(pass == Pass::forward ? "plan was made for backward; allowed: a forward plan"
                                 : "plan was made for forward; allowed: a backward plan");
  api::run(*plan, api::to_pointers(tensors), stream);
}

void run_at_once(const speedlight_problem* given, Pass pass, const speedlight_options* options, const speedlight_tensors* tensors,
                 const speedlight_allocator* allocator, void* stream) {
  Problem problem = api::to_problem(given);
  Pointers pointers = api::to_pointers(tensors);
  if (pointers.workspace || pointers.workspace_bytes) refuse("tensors.workspace is set; this call gets its own, allowed: NULL and 0");
  api::align_to(problem, pointers);
  validate(problem, pass);
  const api::PlanHandle plan = api::cached_plan(problem, pass, api::to_target(options));
  Workspace workspace(*plan, allocator, stream);
  pointers.workspace = workspace.pointer();
  pointers.workspace_bytes = workspace.bytes();
  api::run(*plan, pointers, stream);
  workspace.give_back();
}

}  // namespace

extern "C" {

speedlight_status speedlight_problem_init(speedlight_problem* problem, size_t struct_size, speedlight_dtype dtype, int64_t batch,
                                          int64_t seqlen_q, int64_t seqlen_k, int64_t heads_q, int64_t heads_kv, int64_t head_dim) {
  return api::guarded([&] {
    if (!problem) refuse("problem is NULL");
    if (struct_size < sizeof(speedlight_problem)) refuse("struct_size is too small: give sizeof(speedlight_problem)");
    std::memset(static_cast<void*>(problem), 0, struct_size);
    problem->struct_size = struct_size;
    problem->batch = batch, problem->heads_q = heads_q, problem->heads_kv = heads_kv;
    problem->seqlen_q = seqlen_q, problem->seqlen_k = seqlen_k;
    problem->head_dim = problem->value_dim = head_dim;
    problem->dtype = dtype;
    problem->wanted = SPEEDLIGHT_WANT_ALL;
    problem->scale = head_dim > 0 ? static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim))) : 1;
  });
}

speedlight_status speedlight_plan_create(const speedlight_problem* problem, speedlight_pass pass, const speedlight_options* options,
                                         speedlight_plan** plan) {
  return api::guarded([&] {
    if (!plan) refuse("plan is NULL");
    *plan = nullptr;
    const Problem checked = api::to_problem(problem);
    const Pass which = api::to_pass(pass);
    validate(checked, which);
    *plan = api::make_plan(checked, which, api::to_target(options)).release();
  });
}

void speedlight_plan_destroy(speedlight_plan* plan) { delete plan; }

speedlight_status speedlight_plan_workspace_size(const speedlight_plan* plan, int64_t* bytes) {
  return api::guarded([&] {
    if (!plan) refuse("plan is NULL");
    if (!bytes) refuse("bytes is NULL");
    *bytes = plan->plan.workspace.total;
  });
}

speedlight_status speedlight_plan_explain(const speedlight_plan* plan, const char** text) {
  return api::guarded([&] {
    if (!plan) refuse("plan is NULL");
    if (!text) refuse("text is NULL");
    *text = plan->text().c_str();
  });
}

speedlight_status speedlight_prepare(const speedlight_plan* plan) {
  return api::guarded([&] {
    if (!plan) refuse("plan is NULL");
    api::prepare(*plan);
  });
}

speedlight_status speedlight_forward(const speedlight_plan* plan, const speedlight_tensors* tensors, void* stream) {
  return api::guarded([&] { run_planned(plan, Pass::forward, tensors, stream); });
}

speedlight_status speedlight_backward(const speedlight_plan* plan, const speedlight_tensors* tensors, void* stream) {
  return api::guarded([&] { run_planned(plan, Pass::backward, tensors, stream); });
}

speedlight_status speedlight_attention_forward(const speedlight_problem* problem, const speedlight_options* options,
                                               const speedlight_tensors* tensors, const speedlight_allocator* allocator, void* stream) {
  return api::guarded([&] { run_at_once(problem, Pass::forward, options, tensors, allocator, stream); });
}

speedlight_status speedlight_attention_backward(const speedlight_problem* problem, const speedlight_options* options,
                                                const speedlight_tensors* tensors, const speedlight_allocator* allocator, void* stream) {
  return api::guarded([&] { run_at_once(problem, Pass::backward, options, tensors, allocator, stream); });
}
}
