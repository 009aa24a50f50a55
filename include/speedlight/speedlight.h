/* Speedlight: exact fused attention, forward and backward, on CUDA GPUs and on the CPU. The stable C ABI, plain C99.
 *
 * Rules that hold everywhere:
 *  - Every struct that is passed by pointer begins with `struct_size`, which the caller sets to sizeof the struct it was compiled with.
 *    A library that knows fewer fields accepts a longer struct when the part it does not know is zero, and refuses it otherwise.
 *  - Every function that can fail returns a speedlight_status. Anything but SPEEDLIGHT_OK means: nothing was launched, no output was
 *    touched, the next call works; speedlight_last_error() says which argument, what it got and what is allowed.
 *  - All functions are thread-safe. A plan may be used by many threads at once. */
#ifndef SPEEDLIGHT_SPEEDLIGHT_H_
#define SPEEDLIGHT_SPEEDLIGHT_H_

#include <stddef.h>
#include <stdint.h>

#if defined(SPEEDLIGHT_BUILDING)
#define SPEEDLIGHT_API __attribute__((visibility("default")))
#else
#define SPEEDLIGHT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SPEEDLIGHT_VERSION_MAJOR 0
#define SPEEDLIGHT_VERSION_MINOR 1
#define SPEEDLIGHT_VERSION_PATCH 0

typedef enum speedlight_status {
  SPEEDLIGHT_OK = 0,
  SPEEDLIGHT_INVALID_ARGUMENT = 1, /* a problem, pointer or flag is wrong */
  SPEEDLIGHT_UNSUPPORTED = 2,      /* a valid request that this version does not do */
  SPEEDLIGHT_OUT_OF_MEMORY = 3,
  SPEEDLIGHT_NO_DRIVER = 4,      /* no CUDA driver, or one too old */
  SPEEDLIGHT_UNKNOWN_DEVICE = 5, /* no such GPU or card, or no code for its architecture */
  SPEEDLIGHT_NOT_PREPARED = 6,   /* the first launch of a plan under stream capture: call speedlight_prepare before */
  SPEEDLIGHT_NO_COMPILER = 7,    /* the kernel is not shipped, and NVRTC is missing or turned off */
  SPEEDLIGHT_COMPILE_FAILED = 8,
  SPEEDLIGHT_CUDA_ERROR = 9, /* the driver reported an error */
  SPEEDLIGHT_INTERNAL = 10
} speedlight_status;

typedef enum speedlight_dtype {
  SPEEDLIGHT_DEFAULT = 0, /* in a speedlight_layout: the problem's dtype, contiguous */
  SPEEDLIGHT_FP16 = 1,
  SPEEDLIGHT_BF16 = 2,
  SPEEDLIGHT_FP32 = 3 /* outputs and gradients only */
} speedlight_dtype;

typedef enum speedlight_device_kind { SPEEDLIGHT_CPU = 1, SPEEDLIGHT_CUDA = 2 } speedlight_device_kind;

typedef enum speedlight_pass { SPEEDLIGHT_FORWARD = 1, SPEEDLIGHT_BACKWARD = 2 } speedlight_pass;

/* Masks are aligned to the bottom right: query row i stands at key i + seqlen_k - seqlen_q. */
typedef enum speedlight_mask {
  SPEEDLIGHT_MASK_NONE = 0,
  SPEEDLIGHT_MASK_CAUSAL = 1, /* keys up to the row's own */
  SPEEDLIGHT_MASK_WINDOW = 2  /* keys from own - window_left to own + window_right, both inclusive */
} speedlight_mask;

/* A window end that does not bound. The only such value: 0 and negative ends are real bounds. */
#define SPEEDLIGHT_UNLIMITED ((int64_t)1 << 62)

/* Bits of speedlight_problem.wanted. The output itself is always written. */
#define SPEEDLIGHT_WANT_LSE 1u /* forward: the log-sum-exp (backward needs it) */
#define SPEEDLIGHT_WANT_DQ 2u
#define SPEEDLIGHT_WANT_DK 4u
#define SPEEDLIGHT_WANT_DV 8u
#define SPEEDLIGHT_WANT_ALL 15u

/* One tensor of shape (batch, seqlen, heads, dim); the last dimension is contiguous. A fixed part of speedlight_problem: never grows.
 * All zero means contiguous, in the problem's dtype, 16-byte aligned. */
typedef struct speedlight_layout {
  int64_t batch_stride, row_stride, head_stride; /* in elements; 0 broadcasts (inputs only) */
  int32_t dtype;      /* speedlight_dtype. Outputs and gradients: the problem's or SPEEDLIGHT_FP32. DEFAULT: strides must be 0 */
  uint32_t alignment; /* bytes that divide the address: 1, 2, 4, 8 or 16; 0 means 16. Calls without a plan read it off the pointers */
} speedlight_layout;

typedef struct speedlight_problem {
  size_t struct_size;
  int64_t batch, heads_q, heads_kv; /* heads_q a multiple of heads_kv */
  int64_t seqlen_q, seqlen_k;       /* 0 is valid */
  int64_t head_dim, value_dim;      /* of q and k; of v and out. This version: both 64 or both 128 */
  int32_t dtype;                    /* of q, k, v and dout: FP16 or BF16 */
  uint32_t wanted;                  /* SPEEDLIGHT_WANT_* */
  speedlight_layout q, k, v, out;   /* q, out: heads_q heads; k, v: heads_kv heads */
  speedlight_layout dout, dq, dk, dv;
  float scale;                       /* softmax scale, any finite value; usually 1 / sqrt(head_dim) */
  int32_t mask;                      /* speedlight_mask */
  int64_t window_left, window_right; /* with SPEEDLIGHT_MASK_WINDOW; 0 otherwise */
  int32_t has_dlse;                  /* backward: a gradient of the LSE comes in (0 or 1) */
  /* For later versions; this one refuses anything but 0 as unsupported. */
  int32_t sequence_layout; /* 0: padded */
  int32_t determinism;     /* 0: none, 1: run to run, 2: batch invariant */
  int32_t accumulate;      /* add to the gradients instead of overwriting them */
  float softcap;
  float dropout;
} speedlight_problem;

/* Where a plan runs. All zero but struct_size and device is a good default; the device must be chosen. */
typedef struct speedlight_options {
  size_t struct_size;
  int32_t device;   /* speedlight_device_kind */
  int32_t ordinal;  /* of the GPU, as the driver counts them; -1: the current context's, else 0. 0 for the CPU */
  const char* card; /* plan for this card instead of the GPU's own facts: "rtx5090", ...; "": never; NULL: the environment variable
                       SPEEDLIGHT_CARD if set. With a card a CUDA plan can be made and explained on a machine without any GPU */
} speedlight_options;

/* Pointers of a call, in device memory for CUDA and host memory for the CPU. Unused ones are NULL. */
typedef struct speedlight_tensors {
  size_t struct_size;
  const void *q, *k, *v;
  void* out;          /* backward: the forward's output, only read */
  float* lse;         /* (batch, heads_q, seqlen_q), contiguous, natural logarithm; backward: only read */
  const void* dout;   /* backward */
  const float* dlse;  /* backward, when has_dlse: as lse */
  void *dq, *dk, *dv; /* backward, those wanted */
  void* workspace;    /* at least speedlight_plan_workspace_size bytes, 256-byte aligned; what it holds does not matter */
  int64_t workspace_bytes;
} speedlight_tensors;

/* Memory for the calls that plan by themselves. allocate returns NULL on failure; memory must be usable in stream order. */
typedef struct speedlight_allocator {
  size_t struct_size;
  void* user;
  void* (*allocate)(void* user, int64_t bytes, int32_t ordinal, void* stream);
  void (*release)(void* user, void* pointer, int32_t ordinal, void* stream);
} speedlight_allocator;

typedef struct speedlight_plan speedlight_plan;

/* Fills the common case: contiguous tensors, value_dim = head_dim, scale 1 / sqrt(head_dim), no mask, everything wanted.
 * `struct_size` is sizeof(speedlight_problem). */
SPEEDLIGHT_API speedlight_status speedlight_problem_init(speedlight_problem* problem, size_t struct_size, speedlight_dtype dtype,
                                                         int64_t batch, int64_t seqlen_q, int64_t seqlen_k, int64_t heads_q,
                                                         int64_t heads_kv, int64_t head_dim);

/* Checks a problem and decides how to run one pass of it. Allocates nothing on the GPU and compiles nothing. */
SPEEDLIGHT_API speedlight_status speedlight_plan_create(const speedlight_problem* problem, speedlight_pass pass,
                                                        const speedlight_options* options, speedlight_plan** plan);
SPEEDLIGHT_API void speedlight_plan_destroy(speedlight_plan* plan); /* NULL is fine */
SPEEDLIGHT_API speedlight_status speedlight_plan_workspace_size(const speedlight_plan* plan, int64_t* bytes);
/* The plan for people: kernels, tiles, workspace, roofline. The text lives as long as the plan. */
SPEEDLIGHT_API speedlight_status speedlight_plan_explain(const speedlight_plan* plan, const char** text);

/* Loads (and, for a kernel that is not shipped, compiles) what the plan needs, so that running it can be captured in a CUDA graph. */
SPEEDLIGHT_API speedlight_status speedlight_prepare(const speedlight_plan* plan);

/* Run a plan. CUDA: enqueued on `stream` (a CUstream or cudaStream_t; NULL: the default stream); allocates and synchronises nothing.
 * CPU: done on return; `stream` must be NULL, and no workspace is needed. */
SPEEDLIGHT_API speedlight_status speedlight_forward(const speedlight_plan* plan, const speedlight_tensors* tensors, void* stream);
SPEEDLIGHT_API speedlight_status speedlight_backward(const speedlight_plan* plan, const speedlight_tensors* tensors, void* stream);

/* The same in one call: plans (or finds the plan of an equal earlier call), takes the alignment from the pointers, gets the workspace
 * from the allocator (NULL: a stream-ordered pool of our own) and gives it back. tensors->workspace must be NULL. */
SPEEDLIGHT_API speedlight_status speedlight_attention_forward(const speedlight_problem* problem, const speedlight_options* options,
                                                              const speedlight_tensors* tensors, const speedlight_allocator* allocator,
                                                              void* stream);
SPEEDLIGHT_API speedlight_status speedlight_attention_backward(const speedlight_problem* problem, const speedlight_options* options,
                                                               const speedlight_tensors* tensors, const speedlight_allocator* allocator,
                                                               void* stream);

/* What went wrong in this thread's last call; "" after a call that went well. Valid until the thread's next call. */
SPEEDLIGHT_API const char* speedlight_last_error(void);
SPEEDLIGHT_API const char* speedlight_status_name(speedlight_status status); /* "invalid_argument", ...; "unknown" */
SPEEDLIGHT_API const char* speedlight_version(void);                         /* "0.1.0" */

typedef enum speedlight_log_level { SPEEDLIGHT_LOG_ERROR = 1, SPEEDLIGHT_LOG_WARNING = 2, SPEEDLIGHT_LOG_INFO = 3 } speedlight_log_level;
typedef void (*speedlight_log_callback)(speedlight_log_level level, const char* message, void* user);
/* The library never prints by itself, except an error that no call can return, to stderr. NULL restores that.
 * Called from any thread, one message at a time; it must not set another callback. */
SPEEDLIGHT_API void speedlight_set_log_callback(speedlight_log_callback callback, void* user);

#ifdef __cplusplus
}
#endif
#endif /* SPEEDLIGHT_SPEEDLIGHT_H_ */
