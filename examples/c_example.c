/* Attention forward and backward on the CPU from C99, and the plan that an RTX 5090 would get. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "speedlight/speedlight.h"

enum { batch = 2, seqlen = 100, heads_q = 4, heads_kv = 2, dim = 64 };
enum { query_size = batch * seqlen * heads_q * dim, key_size = batch * seqlen * heads_kv * dim, rows = batch * heads_q * seqlen };

/* bf16 is the upper half of a float. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static float from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

static uint16_t* tensor(int size, unsigned seed) {
  uint16_t* data = malloc((size_t)size * sizeof *data);
  if (!data) exit(2);
  for (int i = 0; i < size; i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = to_bf16((float)(seed >> 8) / (1 << 23) - 1);
  }
  return data;
}

static void check(speedlight_status status) {
  if (status == SPEEDLIGHT_OK) return;
  fprintf(stderr, "%s: %s\n", speedlight_status_name(status), speedlight_last_error());
  exit(1);
}

/* The plan for a card that need not be here. */
static void explain(speedlight_problem* problem) {
  speedlight_options options = {sizeof options, SPEEDLIGHT_CUDA, 0, "rtx5090"};
  speedlight_plan* plan;
  const char* text;
  check(speedlight_plan_create(problem, SPEEDLIGHT_FORWARD, &options, &plan));
  check(speedlight_plan_explain(plan, &text));
  printf("%s", text);
  speedlight_plan_destroy(plan);
}

int main(void) {
  speedlight_problem problem;
  check(speedlight_problem_init(&problem, sizeof problem, SPEEDLIGHT_BF16, batch, seqlen, seqlen, heads_q, heads_kv, dim));
  problem.mask = SPEEDLIGHT_MASK_CAUSAL;

  uint16_t *q = tensor(query_size, 1), *k = tensor(key_size, 2), *v = tensor(key_size, 3), *dout = tensor(query_size, 4);
  uint16_t *out = tensor(query_size, 5), *dq = tensor(query_size, 6), *dk = tensor(key_size, 7), *dv = tensor(key_size, 8);
  float* lse = malloc(rows * sizeof *lse);
  if (!lse) return 2;

  speedlight_options cpu = {sizeof cpu, SPEEDLIGHT_CPU, 0, NULL};
  speedlight_tensors tensors = {0};
  tensors.struct_size = sizeof tensors;
  tensors.q = q, tensors.k = k, tensors.v = v, tensors.out = out, tensors.lse = lse;
  check(speedlight_attention_forward(&problem, &cpu, &tensors, NULL, NULL));
  tensors.dout = dout, tensors.dq = dq, tensors.dk = dk, tensors.dv = dv;
  check(speedlight_attention_backward(&problem, &cpu, &tensors, NULL, NULL));

  /* The first query sees one key only, so its output is that key's value. */
  int wrong = 0;
  for (int d = 0; d < dim; d++) wrong += out[d] != v[d];
  printf("speedlight %s: out[0] %.4f (value %.4f), lse %.4f, dq %.4f, dk %.4f, dv %.4f\n", speedlight_version(), from_bf16(out[0]),
         from_bf16(v[0]), lse[1], from_bf16(dq[heads_q * dim]), from_bf16(dk[0]), from_bf16(dv[0]));
  explain(&problem);

  /* Errors say what to change. */
  problem.heads_kv = 3;
  if (speedlight_attention_forward(&problem, &cpu, &tensors, NULL, NULL) == SPEEDLIGHT_OK) wrong++;
  printf("as it should be, an error: %s\n", speedlight_last_error());

  free(q), free(k), free(v), free(dout), free(out), free(dq), free(dk), free(dv), free(lse);
  return wrong != 0;
}
