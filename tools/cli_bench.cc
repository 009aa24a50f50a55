// speedlight bench: the matrix of BF16 problems with 32K tokens and width 2048, and the host's time a call.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include "cli.h"
#include "config/ceiling_config.h"
#include "cpu/element.h"
#include "machine.h"
#include "problem/error.h"
#include "problem_options.h"
#include "samples.h"

namespace speedlight::cli {
namespace {

constexpr i64 tokens = 32768, width = 2048;

struct BenchOptions {
  bool matrix = false, host = false;
  std::string configs;                  // a file of config texts to time instead of the planned ones
  std::vector<std::string> passes{"forward", "backward"};
  std::vector<i64> head_dims{64, 128}, seqlens{512, 2048, 8192};
  std::vector<int> causal{0, 1};
  int blocks = 5;
};

struct Timing {
  double median_ms = 0, spread = 0;     // spread: (largest - smallest) / median of the blocks
};

// The eight tensors, random normal numbers, shared by all cells (each has tokens x width elements).
class Data {
 public:
  explicit Data(Machine& machine) : machine_(machine) {
    const i64 bytes = tokens * width * 2;
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    std::vector<u16> table(1 << 16);
    for (u16& x : table) x = float_to_bf16(normal(random));
    host_.resize(size_t(tokens * width));
    for (void** tensor : {&q, &k, &v, &dout}) {
      *tensor = machine.allocate(bytes);
      for (u16& x : host_) x = table[random() >> 48];
      machine.write(*tensor, host_.data(), bytes);
    }
    for (void** tensor : {&out, &dq, &dk, &dv}) *tensor = machine.allocate(bytes);
    lse = static_cast<float*>(machine.allocate(tokens * 32 * 4));
  }
  Pointers pointers(void* workspace, i64 workspace_bytes) const {
    Pointers p;
    p.q = q, p.k = k, p.v = v, p.out = out, p.lse = lse, p.dout = dout, p.dq = dq, p.dk = dk, p.dv = dv;
    p.workspace = workspace, p.workspace_bytes = workspace_bytes;
    return p;
  }
  void poison() {
    for (void* tensor : {out, dq, dk, dv}) machine_.fill(tensor, 0xff, tokens * width * 2);
    machine_.fill(lse, 0xff, tokens * 32 * 4);
  }
  BatchEntry entry(const Problem& p, i64 batch, bool backward) const {
    BatchEntry e;
    const i64 elements = p.seqlen_q * width;
    const auto get = [&](std::vector<u16>& to, const void* from) {
      to.resize(size_t(elements));
      machine_.read(to.data(), static_cast<const u16*>(from) + batch * elements, elements * 2);
    };
    get(e.q, q), get(e.k, k), get(e.v, v), get(e.dout, dout), get(e.out, out);
    if (backward) get(e.dq, dq), get(e.dk, dk), get(e.dv, dv);
    e.lse.resize(size_t(p.heads_q * p.seqlen_q));
    machine_.read(e.lse.data(), lse + batch * p.heads_q * p.seqlen_q, i64(e.lse.size()) * 4);
    return e;
  }

 private:
  Machine& machine_;
  std::vector<u16> host_;
  void *q, *k, *v, *dout, *out, *dq, *dk, *dv;
  float* lse;
};

Timing time_blocks(Machine& machine, const std::function<void()>& enqueue, int blocks) {
  machine.time(enqueue, 2);
  const double once = machine.time(enqueue, 2);
  const int count = std::max(3, int(40 / std::max(once, 0.05)));
  std::vector<double> times;
  for (int i = 0; i < blocks; ++i) times.push_back(machine.time(enqueue, count));
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  return {median, (times.back() - times.front()) / median};
}

// TFLOP/s of mma.sync with nothing else to do.
double ceiling_tflops(Machine& machine) {
  CeilingParams params{static_cast<float*>(machine.allocate(1 << 20)), 20000, 1};
  const KernelConfig config = CeilingConfig{DType::bf16};
  const u32 grid = u32(gpu::device_facts(gpu::current_device()).sms) * 2;
  const Timing t = time_blocks(machine, machine.launcher(config, grid, &params), 5);
  const double flops = double(grid) * (CeilingConfig::threads() / 32) * params.iterations * CeilingConfig::products() * 4096.0;
  return flops / t.median_ms * 1e-9;
}

class Bench {
 public:
  Bench(Machine& machine, const Target& target, const BenchOptions& options)
      : machine_(machine), target_(target), options_(options), data_(machine), ceiling_(ceiling_tflops(machine)) {
    if (!options.configs.empty()) read_candidates();
  }

  Json matrix() {
    Json rows = Json::array();
    if (!target_.json) fmt::print("{} card {}: mma.sync ceiling of this run {:.0f} TFLOP/s\n", machine_.name(), machine_.card().name, ceiling_);
    for (i64 d : options_.head_dims)
      for (i64 s : options_.seqlens)
        for (int causal : options_.causal) {
          const i64 heads = width / d;
          const Problem problem = dense_problem(DType::bf16, tokens / s, heads, heads, s, s, d, causal != 0);
          for (const std::string& pass : options_.passes) cell(problem, pass == "backward" ? Pass::backward : Pass::forward, rows);
        }
    return {{"machine", machine_.name()}, {"card", machine_.card().name}, {"commit", SPEEDLIGHT_COMMIT}, {"ceiling_tflops", ceiling_}, {"tokens", tokens}, {"width", width}, {"rows", rows}};
  }

 private:
  void read_candidates() {
    std::ifstream file(options_.configs);
    if (!file) throw Error(Status::invalid_argument, fmt::format("--configs {}: cannot be read", options_.configs));
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#') candidates_.push_back(parse_config(line));
  }

  // The planned launches, or one plan for each candidate that fits the cell.
  std::vector<Plan> plans(const Problem& problem, Pass pass) const {
    const DeviceFacts& card = machine_.card();
    if (candidates_.empty()) return {pass == Pass::forward ? plan_forward(problem, card) : plan_backward(problem, card)};
    std::vector<Plan> found;
    const MaskKind mask = problem.masked() ? MaskKind::band : MaskKind::none;
    for (const KernelConfig& candidate : candidates_) {
      if (const auto* f = std::get_if<ForwardConfig>(&candidate); f && pass == Pass::forward && f->spec.head_dim == problem.head_dim && f->spec.mask == mask)
        found.push_back(plan_forward(problem, card, &f->tuning));
      if (const auto* b = std::get_if<BackwardConfig>(&candidate); b && pass == Pass::backward && b->spec.head_dim == problem.head_dim && b->spec.mask == mask)
        found.push_back(plan_backward(problem, card, &b->tuning));
    }
    return found;
  }

  static std::string main_config(const Plan& plan) {
    for (const PlannedLaunch& launch : plan.launches)
      if (launch.step == Step::forward || launch.step == Step::backward) return to_text(launch.config);
    return "none";
  }

  void cell(const Problem& problem, Pass pass, Json& rows) {
    for (const Plan& plan : plans(problem, pass)) {
      void* workspace = machine_.memory(plan.workspace.total);
      const Pointers pointers = data_.pointers(workspace, plan.workspace.total);
      if (pass == Pass::forward || !candidates_.empty()) data_.poison();
      machine_.fill(workspace, 0xff, plan.workspace.total);
      if (pass == Pass::backward) machine_.run(problem, Pass::forward, pointers);
      gpu::prepare(plan, target_.ordinal);
      const auto enqueue = [&] { gpu::launch(plan, pointers, target_.ordinal, nullptr); };
      enqueue();
      machine_.synchronize();
      double error = 0;
      for (i64 n : {i64(0), problem.batch - 1}) error = std::max(error, worst_sample(problem, data_.entry(problem, n, pass == Pass::backward), n % problem.heads_q, 6, pass == Pass::backward));
      const Timing t = time_blocks(machine_, enqueue, options_.blocks);
      const double flops = (pass == Pass::forward ? 4.0 : 10.0) * double(problem.batch) * double(problem.heads_q) * double(problem.seqlen_q) * double(problem.seqlen_k) * double(problem.head_dim) / (problem.masked() ? 2 : 1);
      const double tflops = flops / t.median_ms * 1e-9;
      const bool right = error <= 1e-2;
      failed_ |= !right;
      rows.push_back({{"pass", pass == Pass::forward ? "forward" : "backward"}, {"head_dim", problem.head_dim}, {"seqlen", problem.seqlen_q}, {"causal", problem.masked()}, {"config", main_config(plan)},
                      {"ms", t.median_ms}, {"tflops", tflops}, {"spread", t.spread}, {"share_of_ceiling", tflops / ceiling_}, {"worst_relative_error", error}, {"correct", right}});
      if (!target_.json)
        fmt::print("D{:<3} S{:<5} {:<6} {:<8} {:8.3f} ms {:6.0f} TFLOP/s  {:4.1f} % of ceiling  spread {:.1f} %  error {:.1e}{}  {}\n", problem.head_dim, problem.seqlen_q, problem.masked() ? "causal" : "full",
                   pass == Pass::forward ? "forward" : "backward", t.median_ms, tflops, 100 * tflops / ceiling_, 100 * t.spread, error, right ? "" : " WRONG", main_config(plan));
      std::fflush(stdout);
    }
  }

  Machine& machine_;
  const Target& target_;
  const BenchOptions& options_;
  Data data_;
  double ceiling_;
  std::vector<KernelConfig> candidates_;

 public:
  bool failed_ = false;
};

// Mean microseconds of `rounds` x 500 enqueues; the stream is drained between rounds and not timed.
double host_microseconds(Machine& machine, const std::function<void()>& enqueue, int rounds = 20) {
  double total = 0;
  for (int round = -1; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 500; ++i) enqueue();
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (round >= 0) total += us;  // the first round warms up
    machine.synchronize();
  }
  return total / (rounds * 500);
}

Json host_times(Machine& machine, const Target& target) {
  const Problem problem = dense_problem(DType::bf16, 1, 1, 1, 64, 64, 64, true);
  const i64 elements = 64 * 64;
  Pointers p;
  for (const void** input : {&p.q, &p.k, &p.v, &p.dout}) *input = machine.allocate(elements * 2);
  for (void** output : {&p.out, &p.dq, &p.dk, &p.dv}) *output = machine.allocate(elements * 2);
  p.lse = static_cast<float*>(machine.allocate(64 * 4));
  p.workspace_bytes = machine.workspace_bytes(problem, Pass::backward);
  p.workspace = machine.allocate(std::max<i64>(p.workspace_bytes, 256));
  const Plan forward = plan_forward(problem, machine.card()), backward = plan_backward(problem, machine.card());
  gpu::prepare(forward, target.ordinal), gpu::prepare(backward, target.ordinal);
  CeilingParams nothing{static_cast<float*>(machine.allocate(256)), 0, 0};
  const KernelConfig empty = CeilingConfig{DType::bf16};
  const double launch = host_microseconds(machine, machine.launcher(empty, 1, &nothing));
  const double forward_us = host_microseconds(machine, [&] { gpu::launch(forward, p, target.ordinal, nullptr); });
  const double backward_us = host_microseconds(machine, [&] { gpu::launch(backward, p, target.ordinal, nullptr); });
  const int launches = int(backward.launches.size());
  if (!target.json)
    fmt::print("host: empty kernel {:.2f} us, forward {:.2f} us (bar {:.2f}), backward {:.2f} us in {} launches (bar {:.2f})\n", launch, forward_us, launch + 1.5, backward_us, launches,
               launches * launch + 3);
  return {{"empty_kernel_us", launch}, {"forward_us", forward_us}, {"backward_us", backward_us}, {"backward_launches", launches}};
}

int bench(const Target& target, const BenchOptions& options) {
  if (!options.matrix && !options.host) throw Error(Status::invalid_argument, "bench: give --matrix, --host or both");
  Target gpu = target;
  gpu.device = "cuda";
  Machine machine(gpu);
  Json json;
  bool failed = false;
  if (options.matrix) {
    Bench run(machine, gpu, options);
    json = run.matrix();
    failed = run.failed_;
  }
  if (options.host) json["host"] = host_times(machine, gpu);
  if (target.json) print(target, json, "");
  return failed;
}

}  // namespace

Run add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "time the matrix of problems on a GPU");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<BenchOptions>();
  add_target_options(*command, *target);
  command->add_flag("--matrix", options->matrix, "BF16, 32K tokens, width 2048, forward and backward");
  command->add_flag("--host", options->host, "host time a call, beside an empty kernel's launch");
  command->add_option("--configs", options->configs, "a file of config texts: time each that fits a cell instead of the planned one");
  command->add_option("--passes", options->passes)->delimiter(',')->check(CLI::IsMember({"forward", "backward"}));
  command->add_option("--head-dims", options->head_dims)->delimiter(',');
  command->add_option("--seqlens", options->seqlens)->delimiter(',');
  command->add_option("--causal", options->causal, "0, 1 or 0,1")->delimiter(',');
  command->add_option("--blocks", options->blocks, "blocks of launches a figure is the median of");
  return [=] { return bench(*target, *options); };
}

}  // namespace speedlight::cli
