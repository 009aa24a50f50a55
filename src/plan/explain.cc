#include <fmt/format.h>
#include <iterator>
#include "plan/plan.h"
#include "problem/visible.h"

namespace speedlight {
namespace {

constexpr const char* step_names[] = {"pack inputs", "forward", "preprocess", "backward", "postprocess", "unpack outputs"};

std::string bound_text(i64 bound) { return bound == Window::unlimited ? "unlimited" : fmt::format("{}", bound); }

std::string window_text(const Problem& p) {
  if (!p.masked()) return "no mask";
  if (p.window == Window{Window::unlimited, 0}) return "causal";
  return fmt::format("window {} to the left, {} to the right of the diagonal", bound_text(p.window.left), bound_text(p.window.right));
}

void explain_launch(std::string& text, const Plan& plan, const PlannedLaunch& launch) {
  const int fit = blocks_per_sm(plan.card, launch.threads, 0, launch.shared);
  auto out = std::back_inserter(text);
  fmt::format_to(out, "  {:<15} {}\n", step_names[int(launch.step)], to_text(launch.config));
  fmt::format_to(out, "  {:<15} {} blocks of {} threads, {} bytes of shared memory; threads and shared memory let {} share an SM", "",
                 launch.grid, launch.threads, launch.shared, fit);
  if (plan.card.sms > 0 && fit > 0)
    fmt::format_to(out, " ({:.2f} waves over {} SMs)", double(launch.grid) / (double(fit) * plan.card.sms), plan.card.sms);
  fmt::format_to(out, "\n  {:<15} why: {}\n", "", launch.reason);
}

}  // namespace

std::string explain(const Plan& plan) {
  const Problem& p = plan.problem;
  std::string text;
  auto out = std::back_inserter(text);
  const double all = double(p.seqlen_q) * double(p.seqlen_k);
  fmt::format_to(out, "{} of batch {}, heads {} over {}, seqlen {} x {}, head dim {}, {}, {}\n",
                 plan.pass == Pass::forward ? "forward" : "backward", p.batch, p.heads_q, p.heads_kv, p.seqlen_q, p.seqlen_k, p.head_dim,
                 p.dtype == DType::bf16 ? "bf16" : "fp16", window_text(p));
  if (all > 0) fmt::format_to(out, "visible pairs: {:.1f} %\n", 100 * double(visible_pairs(p.seqlen_q, p.seqlen_k, p.window)) / all);
  fmt::format_to(out, "on {} (capability {}.{}, code for sm_{}, {} SMs)\n", plan.card.name, plan.card.capability / 10,
                 plan.card.capability % 10, plan.card.target, plan.card.sms);
  if (plan.launches.empty()) text += "nothing to launch: no output has an element\n";
  for (const PlannedLaunch& launch : plan.launches) explain_launch(text, plan, launch);
  fmt::format_to(out, "workspace: {} bytes\n", plan.workspace.total);
  fmt::format_to(out, "{:.4g} GFLOP; roofline {:.4g} ms at {} TFLOP/s of mma and {} TB/s\n", plan.flops * 1e-9, plan.roofline_seconds * 1e3,
                 plan.card.mma_tflops, plan.card.memory_tbs);
  return text;
}

}  // namespace speedlight
