// Every rule of validate(): one problem that breaks it, with the message it gets.
#include <gtest/gtest.h>
#include <functional>
#include <limits>
#include "problem/error.h"
#include "tests/problem/dense.h"

namespace speedlight {
namespace {

struct Refusal {
  const char* name;
  Pass pass;
  Status status;
  const char* message;  // its beginning
  std::function<void(Problem&)> breaks;
};

constexpr auto fwd = Pass::forward, bwd = Pass::backward;
constexpr auto invalid = Status::invalid_argument, unsupported = Status::unsupported;

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> list{
      {"Dtype", fwd, invalid, "dtype is fp32: must be fp16 or bf16", [](Problem& p) { p.dtype = DType::fp32; }},
      {"BatchNegative", fwd, invalid, "batch is -1: must be at least 0", [](Problem& p) { p.batch = -1; }},
      {"BatchHuge", fwd, invalid, "batch is 2147483648: must be", [](Problem& p) { p.batch = i64(1) << 31; }},
      {"SeqlenQ", fwd, invalid, "seqlen_q is 1073741824: must be at least 0 and below 1073741824",
       [](Problem& p) { p.seqlen_q = 1 << 30; }},
      {"SeqlenK", bwd, invalid, "seqlen_k is -3: must be", [](Problem& p) { p.seqlen_k = -3; }},
      {"HeadsRatio", fwd, invalid, "heads_q is 6: must be a multiple of heads_kv, which is 4",
       [](Problem& p) { p.heads_q = 6, p.heads_kv = 4; }},
      {"HeadsZero", fwd, invalid, "heads_q is 4: must be a multiple of heads_kv, which is 0", [](Problem& p) { p.heads_kv = 0; }},
      {"TooMany", fwd, invalid, "batch x heads x seqlen is ", [](Problem& p) { p.batch = i64(1) << 30, p.seqlen_q = 1 << 29; }},
      {"HeadDim", fwd, unsupported, "head_dim is 96: must be 64 or 128 in this version", [](Problem& p) { p.head_dim = p.value_dim = 96; }},
      {"HeadDimZero", fwd, invalid, "head_dim is 0: must be 64 or 128", [](Problem& p) { p.head_dim = 0; }},
      {"ValueDim", fwd, unsupported, "value_dim is 128: must be head_dim, which is 64, in this version",
       [](Problem& p) { p.value_dim = 128; }},
      {"ValueDimZero", fwd, invalid, "value_dim is 0: must be head_dim", [](Problem& p) { p.value_dim = 0; }},
      {"ScaleNan", fwd, invalid, "scale is nan: must be finite", [](Problem& p) { p.scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"ScaleInf", bwd, invalid, "scale is -inf: must be finite", [](Problem& p) { p.scale = -std::numeric_limits<float>::infinity(); }},
      {"Softcap", fwd, unsupported, "softcap is 30: must be 0", [](Problem& p) { p.softcap = 30; }},
      {"SoftcapNan", fwd, unsupported, "softcap is nan: must be 0",
       [](Problem& p) { p.softcap = std::numeric_limits<float>::quiet_NaN(); }},
      {"Dropout", fwd, unsupported, "dropout is 0.5: must be 0", [](Problem& p) { p.dropout = 0.5f; }},
      {"Accumulate", bwd, unsupported, "accumulate is true: must be false", [](Problem& p) { p.accumulate = true; }},
      {"DeterminismUnknown", fwd, invalid, "determinism is 9: must be none (0), run_to_run (1) or batch_invariant (2)",
       [](Problem& p) { p.determinism = Determinism(9); }},
      {"Layout", fwd, invalid, "layout is 3: must be padded", [](Problem& p) { p.layout = SequenceLayout(3); }},
      {"WindowLeft", fwd, invalid, "window.left is -9223372036854775808: must be within",
       [](Problem& p) { p.window.left = std::numeric_limits<i64>::min(); }},
      {"WindowRight", fwd, invalid, "window.right is 9223372036854775807: must be within",
       [](Problem& p) { p.window.right = std::numeric_limits<i64>::max(); }},
      {"QDtype", fwd, invalid, "q.dtype is fp16: must be bf16, the dtype of the problem", [](Problem& p) { p.q.dtype = DType::fp16; }},
      {"KFp32", fwd, invalid, "k.dtype is fp32: must be bf16", [](Problem& p) { p.k.dtype = DType::fp32; }},
      {"OutDtype", fwd, invalid, "out.dtype is fp16: must be bf16, the dtype of the problem, or fp32",
       [](Problem& p) { p.out.dtype = DType::fp16; }},
      {"DoutDtype", bwd, invalid, "dout.dtype is fp32: must be bf16", [](Problem& p) { p.dout.dtype = DType::fp32; }},
      {"DvDtype", bwd, invalid, "dv.dtype is fp16: must be bf16, the dtype of the problem, or fp32",
       [](Problem& p) { p.dv.dtype = DType::fp16; }},
      {"Alignment", fwd, invalid, "v.alignment is 1: must be a power of two, at least 2", [](Problem& p) { p.v.alignment = 1; }},
      {"AlignmentOdd", fwd, invalid, "v.alignment is 12: must be a power of two", [](Problem& p) { p.v.alignment = 12; }},
      {"AlignmentFp32", bwd, invalid, "dq.alignment is 2: must be a power of two, at least 4",
       [](Problem& p) { p.dq.dtype = DType::fp32, p.dq.alignment = 2; }},
      {"NegativeStride", fwd, invalid, "k.head_stride is -64: must be at least 0", [](Problem& p) { p.k.head = -64; }},
      {"HugeStride", fwd, invalid, "q.batch_stride is 4611686018427387904: must be at most", [](Problem& p) { p.q.batch = i64(1) << 62; }},
      {"OutBroadcast", fwd, invalid, "out.batch_stride is 0: must be at least 64, so that no two elements",
       [](Problem& p) { p.out.batch = 0; }},
      {"OutHeadsOverlap", fwd, invalid, "out.head_stride is 7: must be at least 64", [](Problem& p) { p.out.head = 7; }},
      {"DkRowsOverlap", bwd, invalid, "dk.row_stride is 127: must be at least 128", [](Problem& p) { p.dk.row = 127; }},
      {"DqBatchesOverlap", bwd, invalid, "dq.batch_stride is 5887: must be at least 5888", [](Problem& p) { p.dq.batch = 23 * 256 - 1; }},
  };
  return list;
}

Problem sound() { return dense(2, 4, 2, 23, 31, 64); }

std::string message_of(const Problem& p, Pass pass, Status status) {
  try {
    validate(p, pass);
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), status);
    return e.what();
  }
  return "accepted";
}

class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithTheArgumentItsValueAndWhatIsAllowed) {
  Problem p = sound();
  GetParam().breaks(p);
  EXPECT_TRUE(message_of(p, GetParam().pass, GetParam().status).starts_with(GetParam().message))
      << message_of(p, GetParam().pass, GetParam().status);
}
INSTANTIATE_TEST_SUITE_P(Validate, Refuses, testing::ValuesIn(refusals()), [](const auto& info) { return std::string(info.param.name); });

void accepts(const char* what, const std::function<void(Problem&)>& change, Pass pass = Pass::backward) {
  Problem p = sound();
  change(p);
  EXPECT_NO_THROW(validate(p, pass)) << what << ": " << message_of(p, pass, Status::ok);
}

TEST(Validate, AcceptsWhatTheSemanticsAllow) {
  accepts("as it is", [](Problem&) {});
  accepts("fp32 output and gradients", [](Problem& p) { p.out.dtype = p.dq.dtype = p.dk.dtype = p.dv.dtype = DType::fp32; });
  accepts("empty batch", [](Problem& p) { p.batch = 0; });
  accepts("no heads", [](Problem& p) { p.heads_q = p.heads_kv = 0; });
  accepts("no queries", [](Problem& p) { p.seqlen_q = 0; });
  accepts("no keys", [](Problem& p) { p.seqlen_k = 0; });
  accepts("broadcast inputs", [](Problem& p) { p.q.batch = p.k.head = p.v.row = p.dout.row = p.dout.head = p.dout.batch = 0; });
  accepts("one batch: its stride does not matter", [](Problem& p) { p.batch = 1, p.out.batch = p.dq.batch = -5; });
  accepts(
      "heads outside rows", [](Problem& p) { p.out.head = 23 * 64, p.out.row = 64; }, Pass::forward);
  accepts("scale 0", [](Problem& p) { p.scale = 0; });
  accepts("negative scale", [](Problem& p) { p.scale = -3; });
  accepts("causal", [](Problem& p) { p.window = causal; });
  accepts("sliding window", [](Problem& p) { p.window = {3, 2}; });
  accepts("negative window ends", [](Problem& p) { p.window = {-2, -5}; });
  accepts("2-byte alignment", [](Problem& p) { p.q.alignment = 2; });
  accepts("no gradient wanted", [](Problem& p) { p.want_dq = p.want_dk = p.want_dv = false; });
  accepts("layout of an unwanted gradient", [](Problem& p) { p.want_dq = false, p.dq = {}; });
  accepts(
      "gradients' layouts in a forward", [](Problem& p) { p.dq = p.dout = {}; }, Pass::forward);
}

TEST(NeedsPacking, OnlyWhereTheMainKernelsCannotRead) {
  const TensorLayout plain = contiguous(DType::bf16, 23, 4, 64);
  EXPECT_FALSE(needs_packing(plain, 2, 23, 4));
  const auto with = [&](auto change) {
    TensorLayout t = plain;
    change(t);
    return needs_packing(t, 2, 23, 4);
  };
  EXPECT_TRUE(with([](TensorLayout& t) { t.alignment = 8; }));
  EXPECT_FALSE(with([](TensorLayout& t) { t.alignment = 64; }));
  EXPECT_TRUE(with([](TensorLayout& t) { t.row += 4; }));
  EXPECT_FALSE(with([](TensorLayout& t) { t.row += 8; }));
  EXPECT_TRUE(with([](TensorLayout& t) { t.head = 65; }));
  EXPECT_TRUE(with([](TensorLayout& t) { t.batch += 1; }));
  EXPECT_TRUE(with([](TensorLayout& t) { t.row = 0; })) << "broadcast rows";
  EXPECT_FALSE(with([](TensorLayout& t) { t.head = t.batch = 0; })) << "broadcast heads and batches";
  EXPECT_TRUE(with([](TensorLayout& t) { t.batch = i64(1) << 39; })) << "beyond a tensor map's strides";
  EXPECT_FALSE(with([](TensorLayout& t) { t.dtype = DType::fp32, t.row += 4; })) << "16 bytes of fp32";
  EXPECT_FALSE(needs_packing({DType::bf16, 1, 0, 1, 2}, 0, 23, 4)) << "no element";
  EXPECT_FALSE(needs_packing({DType::bf16, 1, 0, 1, 16}, 1, 1, 1)) << "strides of dimensions of size 1";
}

}  // namespace
}  // namespace speedlight
