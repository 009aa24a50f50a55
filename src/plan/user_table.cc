#include "plan/user_table.h"
#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include "plan/parts.h"
#include "plan/tables.h"
#include "problem/error.h"
#include "problem/visible.h"

namespace speedlight {
namespace {

constexpr int walk_cap = 20, own_cap = 9, work_cap = 11;  // 512 rows are two of the largest tiles; 2048 rows an SM are eight of them

int nearest_power(double x) { return x < 1 ? 0 : int(std::lround(std::log2(x))); }

Pass pass_of(const KernelConfig& config) { return std::holds_alternative<ForwardConfig>(config) ? Pass::forward : Pass::backward; }

Spec spec_of(const KernelConfig& config) {
  const auto* forward = std::get_if<ForwardConfig>(&config);
  return forward ? forward->spec : std::get<BackwardConfig>(config).spec;
}

bool same_spec(Spec a, const Spec& b) {
  a.dtype = b.dtype;  // fp16 and bf16 products have one rate
  return a == b;
}

// A row has the Spec that was asked for; one that finishes dQ adds in order nevertheless.
bool can_run(KernelConfig config, const DeviceFacts& card) {
  if (auto* b = std::get_if<BackwardConfig>(&config))
    *b = plan::backward_config(b->spec, b->tuning, b->spec.determinism != Determinism::none);
  return runs_on(config, card.target) && shared_bytes(config) <= card.shared_block;
}

std::string quoted(const std::string& text) { return text.find(' ') == std::string::npos ? text : '"' + text + '"'; }

class RowReader {
 public:
  explicit RowReader(std::string_view line) : rest_(line) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  std::string text(std::string_view name) {
    const std::string start = " " + std::string(name) + "=";
    if (!rest_.starts_with(start)) fail(fmt::format("'{}'", start.substr(1)));
    rest_.remove_prefix(start.size());
    if (!rest_.starts_with('"')) return std::string(word());
    const std::size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos) fail("a closing '\"'");
    std::string value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }
  template <class N>
  N number(std::string_view name, N lowest, N highest) {
    const std::string read = text(name);
    N value{};
    const auto [stop, error] = std::from_chars(read.data(), read.data() + read.size(), value);
    if (error != std::errc{} || stop != read.data() + read.size() || !(value >= lowest && value <= highest))
      fail(fmt::format("{} to be a number from {} to {}, not '{}',", name, lowest, highest, read));
    return value;
  }
  void finish() {
    if (!rest_.empty()) fail("the end");
  }

 private:
  [[noreturn]] void fail(const std::string& expected) {
    throw Error(Status::invalid_argument, fmt::format("tuned row: expected {} before '{}'", expected, rest_));
  }
  std::string_view rest_;
};

}  // namespace

ProblemClass problem_class(const Problem& p, Pass pass, const DeviceFacts& card) {
  const bool forward = pass == Pass::forward;
  const i64 owned = forward ? p.seqlen_q : p.seqlen_k, heads = plan::heads_to_count(p, forward ? p.heads_q : p.heads_kv);
  const double pairs =
      double(visible_pairs(p.seqlen_q, p.seqlen_k, p.window)) * (forward ? 1.0 : double(p.heads_q) / double(std::max<i64>(p.heads_kv, 1)));
  const int walk = nearest_power(pairs / double(std::max<i64>(owned, 1)));
  const int work = nearest_power(double(heads) * double(owned) / std::max(card.sms, 1));
  return {std::min(walk, walk_cap), std::min(nearest_power(double(owned)), own_cap), std::min(work, work_cap)};
}

i64 longest_walk(int walk_class) { return walk_class >= walk_cap ? plan::any_length : i64(std::exp2(walk_class + 0.5)); }

std::string to_text(const TunedRow& r) {
  return fmt::format("{} target=sm_{} card={} walk={} own={} work={} ms={:.6g} machine={} date={} commit={}", to_text(r.config), r.target,
                     quoted(r.card), r.shape.walk, r.shape.own, r.shape.work, r.ms, quoted(r.machine), quoted(r.date), quoted(r.commit));
}

TunedRow parse_tuned_row(std::string_view line) {
  RowReader reader(line);
  TunedRow row;
  row.config = parse_config(reader.word());
  if (!std::holds_alternative<ForwardConfig>(row.config) && !std::holds_alternative<BackwardConfig>(row.config))
    throw Error(Status::invalid_argument, "tuned row: " + to_text(row.config) + " is tuned by nobody: must begin with fwd or bwd");
  const std::string target = reader.text("target");
  for (const int known : {80, 86, 90, 120})
    if (target == fmt::format("sm_{}", known)) row.target = known;
  if (row.target == 0) throw Error(Status::invalid_argument, "tuned row: target=" + target + ": must be sm_80, sm_86, sm_90 or sm_120");
  row.card = reader.text("card");
  row.shape.walk = reader.number("walk", 0, walk_cap);
  row.shape.own = reader.number("own", 0, own_cap);
  row.shape.work = reader.number("work", 0, work_cap);
  row.ms = reader.number("ms", 1e-6, 1e9);
  row.machine = reader.text("machine");
  row.date = reader.text("date");
  row.commit = reader.text("commit");
  reader.finish();
  return row;
}

UserTable parse_user_table(std::string_view text, std::string& fault) {
  UserTable table;
  int faults = 0;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    try {
      table.rows.push_back(parse_tuned_row(line));
    } catch (const Error& error) {
      if (++faults == 1) fault = fmt::format("line {}: {}", number, error.what());
    }
  }
  if (faults > 1) fault += fmt::format(" (and {} more)", faults - 1);
  return table;
}

const TunedRow* find_tuned(const UserTable& table, const Spec& spec, Pass pass, const ProblemClass& shape, const DeviceFacts& card) {
  for (const int away : {0, 1, -1})
    for (const TunedRow& row : table.rows) {
      ProblemClass wanted = shape;
      wanted.walk += away;
      if (row.target == card.target && row.card == card.name && row.shape == wanted && pass_of(row.config) == pass &&
          same_spec(spec_of(row.config), spec) && can_run(row.config, card))
        return &row;
    }
  return nullptr;
}

std::string reason_of(const TunedRow& row) {
  return fmt::format("tuned for this card on {} ({}, commit {}): {:.4g} ms", row.machine, row.date, row.commit, row.ms);
}

bool same_place(const TunedRow& a, const TunedRow& b) {
  return a.target == b.target && a.card == b.card && a.shape == b.shape && pass_of(a.config) == pass_of(b.config) &&
         spec_of(a.config) == spec_of(b.config);
}

}  // namespace speedlight
