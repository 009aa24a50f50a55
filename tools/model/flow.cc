#include "model/flow.h"
#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

namespace speedlight::model {
namespace {

bool ends_block(const Instruction& i) { return i.is("BRA") || i.is("EXIT") || i.is("RET"); }

std::vector<Block> cut_blocks(const std::vector<Instruction>& code) {
  std::set<int> begins{0};
  for (int i = 0; i < int(code.size()); ++i) {
    if (code[size_t(i)].target >= 0) begins.insert(code[size_t(i)].target);
    if (ends_block(code[size_t(i)]) && i + 1 < int(code.size())) begins.insert(i + 1);
  }
  std::vector<Block> blocks;
  for (auto at = begins.begin(); at != begins.end(); ++at) {
    Block block{*at, std::next(at) == begins.end() ? int(code.size()) : *std::next(at), {}, {}};
    for (int i = block.begin; i < block.end; ++i) block.counts.add(code[size_t(i)]);
    blocks.push_back(block);
  }
  return blocks;
}

bool conditional(const Instruction& i) {
  if (!i.guard.empty()) return true;
  return i.operands.find("P") < i.operands.find('`');  // "BRA P1, `(.L)", "BRA.U UP0, `(.L)"
}

// The block ends in a branch whose predicate a vote wrote last, here or in blocks that run into this one (a label may stand between).
bool branches_on_vote(const std::vector<Instruction>& code, const Block& block) {
  const Instruction& branch = code[size_t(block.end - 1)];
  std::string predicate = branch.guard.empty() ? branch.operands.substr(0, branch.operands.find(',')) : branch.guard;
  std::erase(predicate, '!');
  for (int i = block.end - 2; i >= 0 && !code[size_t(i)].is("BRA"); --i) {
    const std::string& operands = code[size_t(i)].operands;
    const auto comma = operands.find(',');
    if (operands.substr(0, comma) != predicate) continue;
    return code[size_t(i)].is("VOTE") || code[size_t(i)].is("VOTEU");
  }
  return false;
}

void link_blocks(const std::vector<Instruction>& code, std::vector<Block>& blocks, std::vector<int>& votes) {
  const auto block_at = [&](int instruction) {
    return int(std::ranges::lower_bound(blocks, instruction, {}, &Block::begin) - blocks.begin());
  };
  for (int b = 0; b < int(blocks.size()); ++b) {
    Block& block = blocks[size_t(b)];
    const Instruction& last = code[size_t(block.end - 1)];
    const bool may_pass = !ends_block(last) || conditional(last) || last.is("BRA.DIV");
    if (may_pass && b + 1 < int(blocks.size())) block.next.push_back(b + 1);
    if (last.target < 0 || last.is("BRA.DIV")) continue;
    block.next.push_back(block_at(last.target));
    if (block.next.size() == 2 && branches_on_vote(code, block)) votes.push_back(b);
  }
}

std::vector<int> reverse_postorder(const std::vector<Block>& blocks) {
  std::vector<int> order;
  std::vector<char> seen(blocks.size());
  std::vector<std::pair<int, size_t>> stack{{0, 0}};
  seen[0] = 1;
  while (!stack.empty()) {
    auto& [block, edge] = stack.back();
    if (edge < blocks[size_t(block)].next.size()) {
      const int to = blocks[size_t(block)].next[edge++];
      if (!seen[size_t(to)]) seen[size_t(to)] = 1, stack.emplace_back(to, 0);
    } else {
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::ranges::reverse(order);
  return order;
}

void find_dominators(Flow& flow) {
  const size_t n = flow.blocks.size();
  flow.order = reverse_postorder(flow.blocks);
  std::vector<int> place(n, -1);
  std::vector<std::vector<int>> from(n);
  for (size_t i = 0; i < flow.order.size(); ++i) place[size_t(flow.order[i])] = int(i);
  for (int b : flow.order)
    for (int to : flow.blocks[size_t(b)].next) from[size_t(to)].push_back(b);
  flow.dominator.assign(n, -1);
  flow.dominator[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int b : flow.order) {
      if (b == 0) continue;
      int common = -1;
      for (int p : from[size_t(b)]) {
        if (flow.dominator[size_t(p)] < 0) continue;
        int q = p;
        while (common >= 0 && q != common) {
          int& later = place[size_t(q)] > place[size_t(common)] ? q : common;
          later = flow.dominator[size_t(later)];
        }
        if (common < 0) common = p;
      }
      if (common != flow.dominator[size_t(b)]) flow.dominator[size_t(b)] = common, changed = true;
    }
  }
}

// Whether `to` is reached from `from` without going round a loop.
bool reaches(const Flow& flow, int from, int to) {
  std::vector<char> seen(flow.blocks.size());
  std::vector<int> todo{from};
  while (!todo.empty()) {
    const int b = todo.back();
    todo.pop_back();
    if (b == to) return true;
    if (seen[size_t(b)]++) continue;
    for (int next : flow.blocks[size_t(b)].next)
      if (!flow.is_back(b, next)) todo.push_back(next);
  }
  return false;
}

// Whether an HMMA lies on the ways from `from` on that do not pass `until`. Code that redoes a step holds none; work that a vote lets in does.
bool holds_mma(const Flow& flow, int from, int until) {
  std::vector<char> seen(flow.blocks.size());
  std::vector<int> todo{from};
  while (!todo.empty()) {
    const int b = todo.back();
    todo.pop_back();
    if (b == until || seen[size_t(b)]++) continue;
    if (flow.blocks[size_t(b)].counts.mma > 0) return true;
    for (int next : flow.blocks[size_t(b)].next)
      if (!flow.is_back(b, next)) todo.push_back(next);
  }
  return false;
}

std::vector<char> loop_body(const Flow& flow, int head) {
  std::vector<std::vector<int>> from(flow.blocks.size());
  for (int b : flow.order)
    for (int to : flow.blocks[size_t(b)].next) from[size_t(to)].push_back(b);
  std::vector<char> inside(flow.blocks.size());
  inside[size_t(head)] = 1;
  std::vector<int> todo;
  for (int b : from[size_t(head)])
    if (flow.is_back(b, head)) todo.push_back(b);
  while (!todo.empty()) {
    const int b = todo.back();
    todo.pop_back();
    if (inside[size_t(b)]) continue;
    inside[size_t(b)] = 1;
    for (int p : from[size_t(b)]) todo.push_back(p);
  }
  return inside;
}

// The best way through `inside` from `head` back to it; `blocks` empty: none.
Way best_way(const Flow& flow, int head, const std::vector<char>& inside, int without) {
  struct Best {
    int mma = -1, copies = 0, instructions = 0, before = -1;
    bool better_than(const Best& o) const { return std::tuple(mma, copies, -instructions) > std::tuple(o.mma, o.copies, -o.instructions); }
  };
  std::vector<Best> best(flow.blocks.size());
  const auto count = [&](int b) -> const Counts& { return flow.blocks[size_t(b)].counts; };
  best[size_t(head)] = {count(head).mma, count(head).copies, count(head).instructions, -1};
  Best end;
  for (int b : flow.order) {
    if (!inside[size_t(b)] || best[size_t(b)].mma < 0) continue;
    for (int to : flow.blocks[size_t(b)].next) {
      Best here = best[size_t(b)];
      here.before = b;
      if (to == head && here.better_than(end)) end = here;
      if (!inside[size_t(to)] || to == without || flow.is_back(b, to)) continue;
      here.mma += count(to).mma, here.copies += count(to).copies, here.instructions += count(to).instructions;
      if (best[size_t(to)].mma < 0 || here.better_than(best[size_t(to)])) best[size_t(to)] = here;
    }
  }
  Way way{head, {}, {}};
  for (int b = end.before; b >= 0; b = best[size_t(b)].before) way.blocks.push_back(b);
  std::ranges::reverse(way.blocks);
  for (int b : way.blocks) way.counts += count(b);
  return way;
}

}  // namespace

bool Flow::dominates(int a, int b) const {
  while (b != a && b != 0 && dominator[size_t(b)] >= 0) b = dominator[size_t(b)];
  return a == b;
}

Flow make_flow(const std::vector<Instruction>& code) {
  Flow flow;
  flow.blocks = cut_blocks(code);
  std::vector<int> votes;
  link_blocks(code, flow.blocks, votes);
  find_dominators(flow);
  // The last votes first: where an earlier one chooses between a step's ways, the later ones have left no redo behind the common way.
  std::ranges::reverse(votes);
  for (int b : votes) {
    auto& next = flow.blocks[size_t(b)].next;
    if (flow.is_back(b, next[0]) || flow.is_back(b, next[1]) || flow.dominator[size_t(b)] < 0) continue;
    if (reaches(flow, next[0], next[1]) && !holds_mma(flow, next[0], next[1]))
      next.erase(next.begin());
    else if (reaches(flow, next[1], next[0]) && !holds_mma(flow, next[1], next[0]))
      next.pop_back();
  }
  find_dominators(flow);
  return flow;
}

std::vector<Way> loop_ways(const Flow& flow) {
  std::vector<Way> ways;
  for (int head : flow.order) {
    const std::vector<char> inside = loop_body(flow, head);
    Way way = best_way(flow, head, inside, -1);
    if (way.counts.mma == 0) continue;
    const int heaviest = *std::ranges::max_element(way.blocks, {}, [&](int b) { return flow.blocks[size_t(b)].counts.mma; });
    Way twin = heaviest == head ? Way{} : best_way(flow, head, inside, heaviest);
    ways.push_back(std::move(way));
    if (twin.counts.mma > 0) ways.push_back(std::move(twin));
  }
  return ways;
}

Counts once_counts(const Flow& flow, const std::vector<Way>& ways) {
  std::vector<char> looped(flow.blocks.size());
  for (const Way& way : ways) {
    const auto inside = loop_body(flow, way.head);
    for (size_t b = 0; b < inside.size(); ++b) looped[b] |= inside[b];
  }
  std::vector<Counts> longest(flow.blocks.size());
  std::vector<char> reached(flow.blocks.size());
  reached[0] = 1;
  Counts best;
  for (int b : flow.order) {
    if (!reached[size_t(b)]) continue;
    if (!looped[size_t(b)]) longest[size_t(b)] += flow.blocks[size_t(b)].counts;
    if (longest[size_t(b)].instructions > best.instructions) best = longest[size_t(b)];
    for (int to : flow.blocks[size_t(b)].next) {
      if (flow.is_back(b, to)) continue;
      if (!reached[size_t(to)] || longest[size_t(b)].instructions > longest[size_t(to)].instructions)
        longest[size_t(to)] = longest[size_t(b)];
      reached[size_t(to)] = 1;
    }
  }
  return best;
}

}  // namespace speedlight::model
