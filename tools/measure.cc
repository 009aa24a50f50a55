#include "measure.h"
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include "config/ceiling_config.h"
#include "cpu/element.h"
#include "problem/error.h"
#include "problem_options.h"

namespace speedlight::cli {
namespace {

class RandomElements {
 public:
  explicit RandomElements(DType dtype) : table_(1 << 16) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    for (u16& x : table_) x = dtype == DType::bf16 ? float_to_bf16(normal(random)) : float_to_fp16(normal(random));
  }
  void fill(std::vector<u16>& to) {
    for (size_t i = 0; i < to.size(); ++i) {
      if (i % 4 == 0) state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
      to[i] = table_[(state_ >> (16 * (i % 4))) & 0xffff];
    }
  }

 private:
  std::vector<u16> table_;
  u64 state_ = 0x9e3779b97f4a7c15ull;
};

double microseconds(Machine& machine, const std::function<void()>& enqueue) {
  constexpr int rounds = 20, calls = 500;
  double total = 0;
  for (int round = -1; round < rounds; ++round) {  // the first warms up; the stream is drained between rounds and not timed
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) enqueue();
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (round >= 0) total += us;
    machine.synchronize();
  }
  return total / (rounds * calls);
}

i64 q_elements(const Problem& p) { return p.batch * p.seqlen_q * p.heads_q * p.head_dim; }
i64 k_elements(const Problem& p) { return p.batch * p.seqlen_k * p.heads_kv * p.head_dim; }

}  // namespace

std::vector<Cell> matrix_cells(const MatrixOptions& o) {
  std::vector<Cell> cells;
  for (const i64 d : o.head_dims)
    for (const i64 s : o.seqlens)
      for (const int causal : o.causal) {
        if (s <= 0 || s > matrix_tokens || (d != 64 && d != 128))
          throw Error(Status::invalid_argument,
                      fmt::format("matrix of head dim {}, seqlen {}: must be 64 or 128, and 1 to {}", d, s, matrix_tokens));
        cells.push_back(
            {"matrix", dense_problem(DType::bf16, matrix_tokens / s, matrix_width / d, matrix_width / d, s, s, d, causal != 0)});
      }
  return cells;
}
std::vector<Cell> gqa_cells() { return {{"gqa", dense_problem(DType::bf16, 1, 32, 8, 8192, 8192, 128, true)}}; }
std::vector<Cell> long_cells() {
  return {{"long", dense_problem(DType::bf16, 1, 16, 16, 32768, 32768, 128, true)},
          {"long", dense_problem(DType::bf16, 1, 16, 16, 131072, 131072, 128, true)}};
}

std::string cell_text(const Problem& p) {
  std::string text = fmt::format("D{:<3} S{:<6} {:<6}", p.head_dim, p.seqlen_q,
                                 p.masked() ? p.window == Window{Window::unlimited, 0} ? "causal" : "window" : "full");
  if (p.seqlen_k != p.seqlen_q) text += fmt::format(" over {} keys", p.seqlen_k);
  if (p.heads_q != p.heads_kv) text += fmt::format(" heads {}/{}", p.heads_q, p.heads_kv);
  return text;
}

double cell_flops(const Problem& p, Pass pass) {
  return (pass == Pass::forward ? 4.0 : 10.0) * double(p.batch) * double(p.heads_q) * double(p.seqlen_q) * double(p.seqlen_k) *
         double(p.head_dim) / (p.masked() ? 2 : 1);
}

const char* pass_name(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

Json cell_json(const Cell& cell, Pass pass) {
  const Problem& p = cell.problem;
  return {{"group", cell.group},    {"pass", pass_name(pass)}, {"batch", p.batch},       {"heads_q", p.heads_q}, {"heads_kv", p.heads_kv},
          {"head_dim", p.head_dim}, {"seqlen", p.seqlen_q},    {"seqlen_k", p.seqlen_k}, {"causal", p.masked()}};
}

Data::Data(Machine& machine, std::span<const Cell> cells, int sets) : machine_(machine) {
  for (const Cell& cell : cells) {
    const Problem& p = cell.problem;
    q_bytes_ = std::max(q_bytes_, q_elements(p) * 2), k_bytes_ = std::max(k_bytes_, k_elements(p) * 2);
    lse_bytes_ = std::max(lse_bytes_, p.batch * p.heads_q * p.seqlen_q * 4);
  }
  RandomElements random(cells.front().problem.dtype);
  std::vector<u16> host;
  for (int i = 0; i < sets; ++i) {
    Pointers& set = sets_.emplace_back();
    for (const auto& [tensor, bytes] : {std::pair{&set.q, q_bytes_}, {&set.k, k_bytes_}, {&set.v, k_bytes_}, {&set.dout, q_bytes_}}) {
      host.resize(size_t(bytes / 2));
      random.fill(host);
      void* memory = machine.allocate(bytes);
      machine.write(memory, host.data(), bytes);
      *tensor = memory;
    }
    set.out = machine.allocate(q_bytes_), set.dq = machine.allocate(q_bytes_);
    set.dk = machine.allocate(k_bytes_), set.dv = machine.allocate(k_bytes_);
    set.lse = static_cast<float*>(machine.allocate(lse_bytes_));
  }
}

Pointers Data::pointers(void* workspace, i64 workspace_bytes, int set) const {
  Pointers p = sets_[size_t(set)];
  p.workspace = workspace, p.workspace_bytes = workspace_bytes;
  return p;
}

void Data::poison() {
  for (const Pointers& set : sets_) {
    for (const auto& [tensor, bytes] : {std::pair{set.out, q_bytes_}, {set.dq, q_bytes_}, {set.dk, k_bytes_}, {set.dv, k_bytes_}})
      machine_.fill(tensor, 0xff, bytes);
    machine_.fill(set.lse, 0xff, lse_bytes_);
  }
}

int sets_beyond_l2(const Machine& machine, const Problem& p) {
  const i64 bytes = 4 * (q_elements(p) + k_elements(p)),
            wanted = 2 * machine.l2_bytes();  // a forward's tensors: the least that a pass touches
  return int(std::clamp<i64>(ceil_div(wanted, std::max<i64>(bytes, 1)), 1, 16));
}

Timing summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  return {median, (times.back() - times.front()) / median};
}

int launches_a_block(Machine& machine, const std::function<void()>& enqueue) {
  machine.time(enqueue, 2);
  return std::max(3, int(40 / std::max(machine.time(enqueue, 2), 0.05)));
}

double time_rested(Machine& machine, const std::function<void()>& enqueue, int launches) {
  const double ms = machine.time(enqueue, launches);
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms * launches));
  return ms;
}

Timing time_blocks(Machine& machine, const std::function<void()>& enqueue, int blocks) {
  const int count = launches_a_block(machine, enqueue);
  std::vector<double> times;
  for (int i = 0; i < blocks; ++i) times.push_back(time_rested(machine, enqueue, count));
  return summary(std::move(times));
}

double ceiling_tflops(Machine& machine) {
  CeilingParams params{static_cast<float*>(machine.allocate(1 << 20)), 20000, 1};
  const KernelConfig config = CeilingConfig{DType::bf16};
  const u32 grid = u32(gpu::device_facts(gpu::current_device()).sms) * 2;
  const Timing t = time_blocks(machine, machine.launcher(config, grid, &params), 5);
  const double flops = double(grid) * (CeilingConfig::threads() / 32) * params.iterations * CeilingConfig::products() * 4096.0;
  return flops / t.median_ms * 1e-9;
}

double copy_tbs(Machine& machine) {
  const i64 bytes = std::max<i64>(8 * machine.l2_bytes(), i64(256) << 20);
  void *from = machine.allocate(bytes), *to = machine.allocate(bytes);
  machine.fill(from, 0x5a, bytes);
  return 2 * double(bytes) /
         time_blocks(
             machine, [&] { machine.copy(to, from, bytes); }, 5)
             .median_ms *
         1e-9;
}

Json host_times(Machine& machine, const Target& target, std::string& text) {
  const Problem problem = dense_problem(DType::bf16, 1, 1, 1, 64, 64, 64, true);
  const Cell cell{"host", problem};
  const Data data(machine, {&cell, 1});
  const Plan forward = machine.plan(problem, Pass::forward), backward = machine.plan(problem, Pass::backward);
  const i64 bytes = std::max(forward.workspace.total, backward.workspace.total);
  const Pointers p = data.pointers(machine.memory(bytes), bytes);
  gpu::prepare(forward, target.ordinal), gpu::prepare(backward, target.ordinal);
  CeilingParams nothing{static_cast<float*>(machine.allocate(256)), 0, 0};
  const KernelConfig empty = CeilingConfig{DType::bf16};
  const double launch = microseconds(machine, machine.launcher(empty, 1, &nothing));
  const double forward_us = microseconds(machine, [&] { gpu::launch(forward, p, target.ordinal, nullptr); });
  const double backward_us = microseconds(machine, [&] { gpu::launch(backward, p, target.ordinal, nullptr); });
  const int launches = int(backward.launches.size());
  text = fmt::format("host: empty kernel {:.2f} us, forward {:.2f} us (bar {:.2f}), backward {:.2f} us in {} launches (bar {:.2f})", launch,
                     forward_us, launch + 1.5, backward_us, launches, launches * launch + 3);
  return {{"empty_kernel_us", launch}, {"forward_us", forward_us}, {"backward_us", backward_us}, {"backward_launches", launches}};
}

}  // namespace speedlight::cli
