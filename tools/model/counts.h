// Instructions by the unit of an SM that executes them.
#pragma once
#include "model/sass.h"

namespace speedlight::model {

struct Counts {
  int instructions = 0;  // all but NOP
  int mma = 0;           // HMMA, all of them m16n8k16 in these kernels
  int ldmatrix = 0;      // LDSM
  int shared = 0;        // other accesses of shared memory: LDS, STS, STSM, ATOMS
  int copies = 0;        // LDGSTS: global to shared
  int bulk_copies = 0;   // UTMALDG, UBLKCP
  int shuffles = 0;
  int wavefronts = 0;  // passes of 128 bytes through shared memory that ldmatrix, shared, copies and shuffles take without conflicts
  int mufu = 0;
  int fp32 = 0;     // FFMA, FADD, FMUL, FSEL, FSETP, half-precision arithmetic; the packed f32x2 forms count twice
  int minmax = 0;   // FMNMX
  int convert = 0;  // F2FP and the like
  int integer = 0;  // IADD3, IMAD, LOP3, LEA, MOV, SEL, PRMT, ...
  int uniform = 0;  // the uniform datapath
  int branch = 0;   // BRA, BSSY, BSYNC, CALL, EXIT, WARPSYNC
  int vote = 0;
  int barrier = 0;   // BAR
  int mbarrier = 0;  // SYNCS
  int global = 0;    // LDG, STG
  int reduce = 0;    // RED, ATOMG
  int local = 0;     // LDL, STL: spills

  void add(const Instruction& instruction);
  Counts& operator+=(const Counts& other);
};

// Calls `visit(name, member)` for every field, in order.
template <class C, class F>
void each_count(C& c, F&& visit) {
  visit("instructions", c.instructions), visit("mma", c.mma), visit("ldmatrix", c.ldmatrix), visit("shared", c.shared);
  visit("copies", c.copies), visit("bulk_copies", c.bulk_copies), visit("shuffles", c.shuffles), visit("wavefronts", c.wavefronts);
  visit("mufu", c.mufu), visit("fp32", c.fp32), visit("minmax", c.minmax), visit("convert", c.convert), visit("integer", c.integer);
  visit("uniform", c.uniform), visit("branch", c.branch), visit("vote", c.vote), visit("barrier", c.barrier);
  visit("mbarrier", c.mbarrier), visit("global", c.global), visit("reduce", c.reduce), visit("local", c.local);
}

}  // namespace speedlight::model
