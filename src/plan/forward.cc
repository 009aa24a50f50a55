#include <utility>
#include "plan/parts.h"
#include "plan/user_table.h"

namespace speedlight {

using namespace plan;

Plan plan_forward(const Problem& problem, const DeviceFacts& card, const ForwardTuning* force, const UserTable* user) {
  validate(problem, Pass::forward);
  Plan made;
  made.pass = Pass::forward;
  made.problem = problem;
  made.card = card;
  const Tables& tables = tables_for(card.target);
  add_roofline(made);
  const i64 heads = problem.batch * problem.heads_q;
  if (heads == 0 || problem.seqlen_q == 0) return made;  // without keys the kernel still runs: it writes 0 and -inf

  const MaskKind mask = mask_of(problem);
  const i64 walk = ceil_div(visible_pairs(problem.seqlen_q, problem.seqlen_k, problem.window), problem.seqlen_q);
  ForwardConfig config{spec_for(problem.dtype, u16(problem.head_dim), mask), {}};
  std::string reason = "asked for";
  if (force) {
    config.tuning = *force;
    check_forced(config, config.valid(), needs_sm_90(*force), card);
  } else if (const TunedRow* tuned =
                 user ? find_tuned(*user, config.spec, Pass::forward, problem_class(problem, Pass::forward, card), card) : nullptr) {
    config.tuning = std::get<ForwardConfig>(tuned->config).tuning;
    reason = reason_of(*tuned);
  } else {
    const ForwardRow& row = choose_row(
        tables.forward, {int(problem.head_dim), mask == MaskKind::band, heads_to_count(problem, problem.heads_q), problem.seqlen_q, walk},
        card.sms);
    config.tuning = row.tuning;
    reason = row.reason;
  }
  const i64 q_tiles = ceil_div(problem.seqlen_q, i64(config.tuning.rows));
  made.geometry = {.q_tiles = i32(q_tiles), .head_group = head_group(heads, mask == MaskKind::band, walk)};
  add_packing(made, Step::pack_inputs);
  add_launch(made, Step::forward, config, heads * q_tiles, std::move(reason));
  add_packing(made, Step::unpack_outputs);
  return made;
}

}  // namespace speedlight
