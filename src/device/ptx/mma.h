// D += A B: mma.sync m16n8k16, row x col, fp32 accumulate.
#pragma once
#include "config/spec.h"

namespace speedlight::ptx {

// Lane l: a[0] = A(l/4, 2(l%4)..+1), a[1] = A(l/4 + 8, same), a[2] = A(l/4, 8 + 2(l%4)..), a[3] = A(l/4 + 8, 8 + ..);
// b0 = B(2(l%4)..+1, l/4), b1 = B(8 + 2(l%4)..+1, l/4); d[0..1] = D(l/4, 2(l%4)..+1), d[2..3] = D(l/4 + 8, same).
template <DType T>
inline void mma_16816(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (T == DType::bf16)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace speedlight::ptx
