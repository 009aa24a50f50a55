// Rate of the CPU backend beside that of Eigen's float product on the same machine, in the same run.
// Usage: benchmark_cpu [--kernels baseline|v3|v4]
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/element.h"
#include "cpu/passes.h"
#include "cpu/thread_pool.h"

namespace speedlight {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * double(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Best seconds of a call, of at least three and half a second in all.
template <class Call>
double seconds(Call call) {
  call();
  double best = 1e30;
  const double start = now();
  for (int i = 0; i < 3 || now() - start < 0.5; ++i) {
    const double t = now();
    call();
    best = std::min(best, now() - t);
  }
  return best;
}

// Eigen's float product of 1024 x 1024 x 1024 on one thread, compiled for the same instruction set, in FLOP/s.
double eigen_rate(const cpu::Kernels& kernels) {
  constexpr i64 size = 1024;
  std::vector<float> a(size * size, 0.5f), b(size * size, 0.25f), c(size * size);
  return 2.0 * size * size * size / seconds([&] { kernels.scores(c.data(), a.data(), b.data(), 1, size, size, size); });
}

struct Shape {
  i64 batch, heads, seqlen, dim;
  bool causal;
};

void measure(const Shape& shape, const cpu::Kernels& kernels, double peak) {
  Problem p;
  p.batch = shape.batch, p.heads_q = p.heads_kv = shape.heads, p.seqlen_q = p.seqlen_k = shape.seqlen, p.head_dim = p.value_dim = shape.dim;
  p.q = p.k = p.v = p.out = p.dout = p.dq = p.dk = p.dv = contiguous(p.dtype, shape.seqlen, shape.heads, shape.dim);
  p.scale = 0.1f;
  if (shape.causal) p.window.right = 0;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<u16>> tensors(8, std::vector<u16>(size_t(shape.batch * shape.seqlen * shape.heads * shape.dim)));
  for (auto& tensor : tensors)
    for (u16& x : tensor) x = float_to_bf16(normal(random));
  std::vector<float> lse(size_t(shape.batch * shape.heads * shape.seqlen));
  Pointers x;
  x.q = tensors[0].data(), x.k = tensors[1].data(), x.v = tensors[2].data(), x.dout = tensors[3].data();
  x.out = tensors[4].data(), x.dq = tensors[5].data(), x.dk = tensors[6].data(), x.dv = tensors[7].data(), x.lse = lse.data();

  const double s = double(shape.seqlen),
               flops = 4.0 * double(shape.batch * shape.heads * shape.dim) * (shape.causal ? s * (s + 1) / 2 : s * s);
  const double wall = now(), used = processor_seconds();
  const double forward = seconds([&] { cpu::run_forward(p, x, kernels); });
  const double backward = seconds([&] { cpu::run_backward(p, x, kernels); });
  const double parallel = (processor_seconds() - used) / (now() - wall);
  std::printf(
      "B%lld H%-2lld S%-5lld D%-3lld %-6s  forward %6.1f  backward %6.1f  both %6.1f GFLOP/s = %4.1f %% of the product's, user/wall %.2f\n",
      static_cast<long long>(shape.batch), static_cast<long long>(shape.heads), static_cast<long long>(shape.seqlen),
      static_cast<long long>(shape.dim), shape.causal ? "causal" : "full", flops / forward * 1e-9, 2.5 * flops / backward * 1e-9,
      3.5 * flops / (forward + backward) * 1e-9, 100 * 3.5 * flops / (forward + backward) / peak, parallel);
  std::fflush(stdout);
}

int run(int count, char** arguments) {
  const cpu::Kernels* chosen = &cpu::kernels();
  if (count == 3 && !std::strcmp(arguments[1], "--kernels")) {
    int available = 0;
    const cpu::Kernels* const* all = cpu::available_kernels(available);
    const auto* const* found =
        std::find_if(all, all + available, [&](const cpu::Kernels* k) { return !std::strcmp(k->name, arguments[2]); });
    if (found == all + available) return std::fprintf(stderr, "this processor has no kernels named %s\n", arguments[2]), 1;
    chosen = *found;
  } else if (count != 1) {
    return std::fprintf(stderr, "usage: %s [--kernels baseline|v3|v4]\n", arguments[0]), 1;
  }
  const double peak = eigen_rate(*chosen) * cpu::thread_count();
  std::printf("kernels %s, %d threads; Eigen's float product of 1024^3 on one thread, times %d: %.1f GFLOP/s\n", chosen->name,
              cpu::thread_count(), cpu::thread_count(), peak * 1e-9);
  for (const Shape& shape : {Shape{1, 8, 2048, 64, false}, Shape{1, 8, 2048, 64, true}, Shape{1, 8, 2048, 128, false},
                             Shape{1, 8, 2048, 128, true}, Shape{1, 1, 2048, 64, true}, Shape{8, 8, 128, 64, true}})
    measure(shape, *chosen, peak);
  return 0;
}

}  // namespace
}  // namespace speedlight

int main(int count, char** arguments) { return speedlight::run(count, arguments); }
