#include "cpu/kernels.h"

namespace speedlight::cpu {

extern const Kernels kernels_baseline;
#ifdef __x86_64__
extern const Kernels kernels_v3, kernels_v4;
#endif

const Kernels* const* available_kernels(int& count) {
#ifdef __x86_64__
  static const Kernels* const all[] = {&kernels_baseline, &kernels_v3, &kernels_v4};
  static const int usable = [] {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");  // f16c came before avx2
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return v4 ? 3 : v3 ? 2 : 1;
  }();
  count = usable;
#else
  static const Kernels* const all[] = {&kernels_baseline};
  count = 1;
#endif
  return all;
}

const Kernels& kernels() {
  int count = 0;
  const Kernels* const* all = available_kernels(count);
  return *all[count - 1];
}

}  // namespace speedlight::cpu
