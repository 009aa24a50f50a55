// Binding and the judging of pointers: plan and pointers in, kernel parameters out. No GPU.
#include "gpu/bind.h"
#include <gtest/gtest.h>
#include <cmath>
#include "problem/error.h"

namespace speedlight {
namespace {

Problem problem() {
  Problem p;
  p.batch = 2, p.heads_q = 8, p.heads_kv = 2, p.seqlen_q = 100, p.seqlen_k = 300, p.head_dim = p.value_dim = 128;
  p.scale = 0.25f, p.window = {Window::unlimited, 0};
  p.q = p.out = p.dout = p.dq = contiguous(p.dtype, 100, 8, 128);
  p.k = p.v = p.dk = p.dv = contiguous(p.dtype, 300, 2, 128);
  return p;
}

DeviceFacts card() { return *find_card("rtx5090"); }

template <class T>
T* fake(u64 address) {
  return reinterpret_cast<T*>(address);
}

Pointers pointers(const Plan& plan) {
  Pointers x;
  x.q = fake<void>(0x10000), x.k = fake<void>(0x20000), x.v = fake<void>(0x30000), x.out = fake<void>(0x40000),
  x.lse = fake<float>(0x50000);
  if (plan.pass == Pass::backward)
    x.dout = fake<void>(0x60000), x.dq = fake<void>(0x70000), x.dk = fake<void>(0x80000), x.dv = fake<void>(0x90000);
  x.workspace = fake<void>(0x100000), x.workspace_bytes = plan.workspace.total;
  return x;
}

void expect_refused(const Plan& plan, const Pointers& x, const std::string& part) {
  try {
    check_pointers(plan, x);
    ADD_FAILURE() << "accepted; expected a refusal with '" << part << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Bind, ForwardTakesTheTensorsAsTheyAre) {
  const Plan plan = plan_forward(problem(), card());
  const ForwardParams f = bind_forward(plan, pointers(plan));
  EXPECT_EQ(f.q.data, fake<void>(0x10000));
  EXPECT_EQ(f.k.row, 2 * 128);
  EXPECT_EQ(f.out.batch, 100 * 8 * 128);
  EXPECT_EQ(f.lse, fake<float>(0x50000));
  EXPECT_EQ(f.shape.heads_kv, 2);
  EXPECT_EQ(f.shape.seqlen_k, 300);
  EXPECT_FLOAT_EQ(f.scale_log2, 0.25f * std::log2(std::exp(1.0f)));
  EXPECT_FALSE(f.out_fp32);
  const i32 rows = std::get<ForwardConfig>(plan.launches.at(0).config).tuning.rows;
  EXPECT_EQ(f.q_tiles, ceil_div(100, rows));
  EXPECT_EQ(plan.launches[0].grid, u32(f.q_tiles * 16));
  EXPECT_EQ(16 % f.head_group, 0);
}

TEST(Bind, LseOnlyWhenWanted) {
  Problem p = problem();
  p.want_lse = false;
  const Plan plan = plan_forward(p, card());
  EXPECT_EQ(bind_forward(plan, pointers(plan)).lse, nullptr);
}

TEST(Bind, MapOfContiguousKeys) {
  const Plan plan = plan_forward(problem(), card());
  const MapShape m = bind_map(plan, pointers(plan), Operand::k, 32);
  EXPECT_EQ(m.data, fake<void>(0x20000));
  EXPECT_EQ(std::vector<u64>(m.sizes, m.sizes + 4), (std::vector<u64>{128, 300, 2, 2}));
  EXPECT_EQ(std::vector<u64>(m.strides, m.strides + 3), (std::vector<u64>{512, 256, 300 * 512}));
  EXPECT_EQ(std::vector<u32>(m.box, m.box + 4), (std::vector<u32>{64, 32, 1, 1}));
  EXPECT_TRUE(m.has_batch);
  EXPECT_TRUE(m.has_head);
}

TEST(Bind, MapOfBroadcastAndSingleDimensions) {
  Problem p = problem();
  p.k.batch = 0, p.k.head = 0, p.k.row = 128;
  Plan plan = plan_forward(p, card());
  MapShape m = bind_map(plan, pointers(plan), Operand::k, 32);
  EXPECT_EQ(std::vector<u64>(m.sizes, m.sizes + 4), (std::vector<u64>{128, 300, 1, 1}));
  EXPECT_FALSE(m.has_batch);
  EXPECT_FALSE(m.has_head);
  p = problem();
  p.batch = 1, p.seqlen_k = 1, p.k.batch = 7, p.k.row = 3;  // of no meaning: size 1
  plan = plan_forward(p, card());
  m = bind_map(plan, pointers(plan), Operand::k, 32);
  for (const u64 stride : m.strides) EXPECT_EQ(stride % 16, 0u);
  EXPECT_FALSE(m.has_batch);
  p.seqlen_k = 0;
  plan = plan_forward(p, card());
  EXPECT_EQ(bind_map(plan, pointers(plan), Operand::k, 32).data, nullptr);
}

TEST(Bind, MisalignedTensorsGoThroughWorkspace) {
  Problem p = problem();
  p.k.alignment = 2, p.v.row += 1, p.v.batch += 300, p.out.alignment = 4, p.out.dtype = DType::fp32;
  const Plan plan = plan_forward(p, card());
  ASSERT_EQ(plan.launches.size(), 3u);
  Pointers x = pointers(plan);
  x.k = fake<void>(0x20002), x.out = fake<void>(0x40004);
  check_pointers(plan, x);
  const ForwardParams f = bind_forward(plan, x);
  EXPECT_EQ(f.k.data, fake<void>(u64(0x100000 + plan.workspace.packed_k.offset)));
  EXPECT_EQ(f.v.row, 256);
  EXPECT_EQ(f.out.data, fake<void>(u64(0x100000 + plan.workspace.packed_out.offset)));
  EXPECT_TRUE(f.out_fp32);
  const PackParams in = bind_pack(plan, plan.launches[0], x), out = bind_pack(plan, plan.launches[2], x);
  ASSERT_EQ(in.count, 2);
  EXPECT_EQ(in.jobs[0].from.data, x.k);
  EXPECT_EQ(in.jobs[0].to.data, f.k.data);
  EXPECT_EQ(in.jobs[1].from.row, 257);
  EXPECT_EQ(in.jobs[1].to.row, 256);
  EXPECT_EQ(in.jobs[0].first_block, 0);
  EXPECT_GT(in.jobs[1].first_block, 0);
  ASSERT_EQ(out.count, 1);
  EXPECT_EQ(out.jobs[0].from.data, f.out.data);
  EXPECT_EQ(out.jobs[0].to.data, x.out);
  EXPECT_EQ(out.jobs[0].rows, 100);
}

TEST(Bind, BackwardLeavesOutWhatIsNotWanted) {
  Problem p = problem();
  p.want_dq = false, p.dk.dtype = DType::fp32;
  const Plan plan = plan_backward(p, card());
  const BackwardParams b = bind_backward(plan, pointers(plan));
  EXPECT_EQ(b.dq.data, nullptr);
  EXPECT_EQ(b.dq_accumulator, nullptr);
  EXPECT_EQ(b.dk.data, fake<void>(0x80000));
  EXPECT_TRUE(b.dk_fp32);
  EXPECT_FALSE(b.dv_fp32);
  EXPECT_EQ(b.dlse, nullptr);
  EXPECT_EQ(b.scale, 0.25f);
  EXPECT_EQ(b.row_lse2, fake<float>(u64(0x100000 + plan.workspace.row_lse2.offset)));
  EXPECT_EQ(b.q_tiles * (b.rows_padded / b.q_tiles), b.rows_padded);
}

TEST(Pointers, NullIsNamed) {
  const Plan forward = plan_forward(problem(), card()), backward = plan_backward(problem(), card());
  const auto without = [](const Plan& plan, auto member) {
    Pointers x = pointers(plan);
    x.*member = nullptr;
    return x;
  };
  expect_refused(forward, without(forward, &Pointers::q), "q is null");
  expect_refused(forward, without(forward, &Pointers::k), "k is null");
  expect_refused(forward, without(forward, &Pointers::v), "v is null");
  expect_refused(forward, without(forward, &Pointers::out), "out is null");
  expect_refused(forward, without(forward, &Pointers::lse), "lse is null");
  expect_refused(backward, without(backward, &Pointers::dout), "dout is null");
  expect_refused(backward, without(backward, &Pointers::dq), "dq is null");
  expect_refused(backward, without(backward, &Pointers::dk), "dk is null");
  expect_refused(backward, without(backward, &Pointers::dv), "dv is null");
  expect_refused(backward, without(backward, &Pointers::workspace), "workspace is null");
  Pointers x = pointers(backward);
  x.dlse = fake<float>(0xa0000);
  expect_refused(backward, x, "dlse is 0xa0000: must be null");
}

TEST(Pointers, PlannedAlignmentIsHeld) {
  const Plan plan = plan_backward(problem(), card());
  Pointers x = pointers(plan);
  x.k = fake<void>(0x20008);
  expect_refused(plan, x, "k is 0x20008: must be aligned to 16 bytes, as planned");
  x = pointers(plan);
  x.lse = fake<float>(0x50002);
  expect_refused(plan, x, "lse is 0x50002: must be aligned to 4 bytes");
  x = pointers(plan);
  x.workspace = fake<void>(0x100010);
  expect_refused(plan, x, "workspace is 0x100010: must be aligned to 256 bytes");
}

TEST(Pointers, WorkspaceSize) {
  const Plan plan = plan_backward(problem(), card());
  Pointers x = pointers(plan);
  check_pointers(plan, x);
  --x.workspace_bytes;
  expect_refused(
      plan, x,
      "workspace_bytes is " + std::to_string(plan.workspace.total - 1) + ": must be at least " + std::to_string(plan.workspace.total));
}

TEST(Pointers, EmptyTensorsMayBeNull) {
  Problem p = problem();
  p.seqlen_k = 0;
  const Plan plan = plan_forward(p, card());
  Pointers x = pointers(plan);
  x.k = x.v = nullptr;
  check_pointers(plan, x);
  p.batch = 0;
  check_pointers(plan_forward(p, card()), Pointers{});
}

}  // namespace
}  // namespace speedlight
