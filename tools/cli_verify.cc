// speedlight verify: random problems, ugly on purpose, against float64.
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include "check_case.h"
#include "cli.h"
#include "parts.h"
#include "random_case.h"

namespace speedlight::cli {
namespace {

bool strided(const TensorLayout& t, i64 rows, i64 heads, i64 dim) {
  const TensorLayout dense = contiguous(t.dtype, rows, heads, dim);
  return t.batch != dense.batch || t.row != dense.row || t.head != dense.head;
}

// Which share of the cases has what; the generator aims above the minima of the issue.
class Histogram {
 public:
  void add(const Case& c) {
    const Problem& p = c.problem;
    ++cases_;
    lengths_.push_back(p.seqlen_q), lengths_.push_back(p.seqlen_k);
    const auto any = [&](auto holds) {
      return holds(p.q, p.seqlen_q, p.heads_q) || holds(p.k, p.seqlen_k, p.heads_kv) || holds(p.v, p.seqlen_k, p.heads_kv) ||
             holds(p.out, p.seqlen_q, p.heads_q) || holds(p.dout, p.seqlen_q, p.heads_q) || holds(p.dq, p.seqlen_q, p.heads_q) ||
             holds(p.dk, p.seqlen_k, p.heads_kv) || holds(p.dv, p.seqlen_k, p.heads_kv);
    };
    bool dead = false;
    for (i64 row = 0; row < p.seqlen_q && !dead; ++row) dead = band(row, p.seqlen_q, p.seqlen_k, p.window).empty();
    count("seqlen_q != seqlen_k", p.seqlen_q != p.seqlen_k);
    count("rows without keys", dead);
    count("grouped heads", p.heads_q != p.heads_kv);
    count("not contiguous", any([&](const TensorLayout& t, i64 rows, i64 heads) { return strided(t, rows, heads, p.head_dim); }));
    count("misaligned", any([&](const TensorLayout& t, i64 rows, i64 heads) {
            return t.alignment < 16 || (needs_packing(t, p.batch, rows, heads) && t.row != 0);
          }));
    count("outliers or shifted", c.outlier != 1 || c.shift != 0);
    count("masked", p.masked());
    count("fp32 results", any([](const TensorLayout& t, i64, i64) { return t.dtype == DType::fp32; }));
    count("gradient of the LSE", p.has_dlse);
    count("unwanted gradients", !(p.want_dq && p.want_dk && p.want_dv));
  }
  Json json() {
    Json json;
    for (const auto& [name, n] : counts_) json[name] = cases_ ? 100.0 * double(n) / double(cases_) : 0;
    std::sort(lengths_.begin(), lengths_.end());
    json["median length"] = lengths_.empty() ? 0 : lengths_[lengths_.size() / 2];
    return json;
  }

 private:
  void count(const std::string& name, bool holds) {
    for (auto& [known, n] : counts_)
      if (known == name) return void(n += holds);
    counts_.emplace_back(name, holds);
  }
  i64 cases_ = 0;
  std::vector<std::pair<std::string, i64>> counts_;
  std::vector<i64> lengths_;
};

}  // namespace

Part verify_part(Machine& machine, const Target& target, const VerifyOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  const double work = o.work > 0 ? o.work : machine.cuda() ? 2e9 : 4e7;
  const i64 first = o.only >= 0 ? o.only : 0, last = o.only >= 0 ? o.only + 1 : o.cases;
  const std::string again =
      fmt::format("speedlight verify --seed {} --device {}{}{}", o.seed, machine.cuda() ? "cuda" : "cpu",
                  target.card.empty() ? "" : " --card " + target.card, o.work > 0 ? fmt::format(" --work {}", o.work) : "");
  Histogram histogram;
  Json failures = Json::array();
  i64 passed = 0;
  Progress progress("verify", last - first);
  for (i64 i = first; i < last; ++i) {
    const Case c = random_case(o.seed, i, work);
    histogram.add(c);
    const CaseResult result = check_case(machine, c);
    passed += result.pass;
    if (!result.pass || o.only >= 0) {
      const std::string line = fmt::format("{} --only {}", again, i);
      if (!result.pass) failures.push_back({{"again", line}, {"problem", c.text()}, {"result", result.text()}});
      if (!target.json) fmt::print("{}{}\n  {}\n{}", result.pass ? "" : "FAILED: ", line, c.text(), result.text());
      std::fflush(stdout);
    }
    progress.step(i + 1 - first);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Json shares = histogram.json();
  std::string text =
      fmt::format("{} {}: {} cases in {:.1f} s; shares in percent:\n", machine.name(), machine.card().name, last - first, seconds);
  for (const auto& [name, share] : shares.items()) text += fmt::format("  {:<22} {:.1f}\n", name, share.get<double>());
  text += fmt::format("{} passed, {} failed", passed, last - first - passed);
  return {{{"machine", machine.name()},
           {"card", machine.card().name},
           {"seed", o.seed},
           {"passed", passed},
           {"failed", last - first - passed},
           {"seconds", seconds},
           {"shares", shares},
           {"failures", failures}},
          text,
          passed == last - first};
}

Run add_verify(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "random problems against float64");
  auto target = std::make_shared<Target>();
  auto options = std::make_shared<VerifyOptions>();
  add_target_options(*command, *target);
  command->add_option("--cases", options->cases, "how many");
  command->add_option("--seed", options->seed);
  command->add_option("--only", options->only, "run this case alone and print its errors");
  command->add_option("--work", options->work, "bound of batch * heads * seqlen_q * seqlen_k * head_dim (default: by device)");
  return [target, options] {
    Machine machine(*target);
    const Part part = verify_part(machine, *target, *options);
    print(*target, part.json, part.text);
    return part.pass ? 0 : 1;
  };
}

}  // namespace speedlight::cli
