// The parser and the flow analysis on small texts in nvdisasm's form.
#include <gtest/gtest.h>
#include "model/flow.h"
#include "problem/error.h"

namespace speedlight::model {
namespace {

// A loop of four mma, a vote that guards a redo, a branch for divergent warps, and code before and after.
constexpr const char* small = R"(
	.section	.text.kernel,"ax",@progbits
.text.kernel:
        /*0000*/                   LDC R1, c[0x0][0x37c] ;
        /*0010*/                   MOV R2, RZ ;
.L_x_0:
        /*0020*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0030*/                   HMMA.16816.F32.BF16 R8, R4, R6, R8 ;
        /*0040*/                   HMMA.16816.F32.BF16 R8, R4, R6, R8 ;
        /*0050*/                   MUFU.EX2 R9, R8 ;
        /*0060*/                   FADD R10, R9, R8 ;
        /*0070*/                   FSETP.GT.AND P0, PT, R10, 1, PT ;
        /*0080*/                   VOTE.ANY P0, P0 ;
        /*0090*/              @!P0 BRA `(.L_x_1) ;
        /*00a0*/                   FMUL R8, R9, R8 ;
        /*00b0*/                   FMNMX R9, R9, R8, !PT ;
.L_x_1:
        /*00c0*/                   F2FP.BF16.F32.PACK_AB R9, R9, R8 ;
        /*00d0*/                   BRA.DIV UR7, `(.L_x_2) ;
        /*00e0*/                   HMMA.16816.F32.BF16 R8, R4, R6, R8 ;
        /*00f0*/                   HMMA.16816.F32.BF16 R8, R4, R6, R8 ;
        /*0100*/                   IADD3 R2, PT, PT, R2, 0x1, RZ ;
        /*0110*/               @P1 BRA `(.L_x_0) ;
        /*0120*/                   STG.E desc[UR4][R2.64], R9 ;
        /*0130*/                   EXIT ;
.L_x_2:
        /*0140*/                   HMMA.16816.F32.BF16 R8, R4, R6, R8 ;
        /*0150*/                   BRA `(.L_x_1) ;
)";

TEST(Sass, ReadsInstructionsAndTargets) {
  const auto code = parse_sass(small, "kernel");
  ASSERT_EQ(code.size(), 22u);
  EXPECT_EQ(code[3].opcode, "HMMA.16816.F32.BF16");
  EXPECT_TRUE(code[3].is("HMMA"));
  EXPECT_FALSE(code[3].is("HM"));
  EXPECT_EQ(code[9].guard, "!P0");
  EXPECT_EQ(code[9].target, 12);
  EXPECT_EQ(code[17].target, 2);
  EXPECT_EQ(code[16].operands, "R2, PT, PT, R2, 0x1, RZ");
  EXPECT_THROW(parse_sass(small, "other"), Error);
}

TEST(Flow, TakesTheCommonWayThroughALoop) {
  const Flow flow = make_flow(parse_sass(small, "kernel"));
  const auto ways = loop_ways(flow);
  ASSERT_EQ(ways.size(), 1u);
  const Counts& c = ways[0].counts;
  EXPECT_EQ(c.mma, 4);     // not the divergent copy's
  EXPECT_EQ(c.minmax, 0);  // nor the redo's
  EXPECT_EQ(c.ldmatrix, 1);
  EXPECT_EQ(c.wavefronts, 4);
  EXPECT_EQ(c.mufu, 1);
  EXPECT_EQ(c.convert, 1);
  EXPECT_EQ(c.vote, 1);
  EXPECT_EQ(c.fp32, 2);
  EXPECT_EQ(c.integer, 1);
  EXPECT_EQ(c.branch, 3);
  EXPECT_EQ(c.instructions, 14);
  EXPECT_EQ(once_counts(flow, ways).instructions, 4);
}

TEST(Flow, KeepsTheProductsThatAVoteLetsIn) {
  std::string work(small);
  const std::string scaled = "FMUL R8, R9, R8 ;";
  work.replace(work.find(scaled), scaled.size(), "HMMA.16816.F32.BF16 R8, R4, R6, R8 ;");
  const auto ways = loop_ways(make_flow(parse_sass(work, "kernel")));
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways[0].counts.mma, 5);
}

}  // namespace
}  // namespace speedlight::model
