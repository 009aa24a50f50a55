// Control flow of one kernel, and the way that most iterations of its loops take.
#pragma once
#include <vector>
#include "model/counts.h"

namespace speedlight::model {

struct Block {
  int begin = 0, end = 0;  // instructions [begin, end)
  Counts counts;
  std::vector<int> next;  // blocks; without edges that are known to be rare
};

// A loop that holds mma, and the way through its body from the head back to it.
struct Way {
  int head = 0;             // block
  std::vector<int> blocks;  // in order
  Counts counts;
};

struct Flow {
  std::vector<Block> blocks;
  std::vector<int> dominator;  // immediate; of the entry itself: itself; -1: unreachable
  std::vector<int> order;      // reachable blocks, in reverse postorder

  bool dominates(int a, int b) const;
  bool is_back(int from, int to) const { return dominates(to, from); }
};

// Rare edges, left out: those to the divergent copies of warp-wide instructions (BRA.DIV), and those to code that a vote guards, which is
// how these kernels redo a step whose reference was too old. Of the two ways that follow a branch on a vote's result the rare one is that
// from which the other is reached.
Flow make_flow(const std::vector<Instruction>& code);

// For every loop that holds mma the way with the most of them, of such ways the one that copies most (the next tile is loaded but for the
// last iteration), and of these the one with the fewest instructions; then, where the loop has
// one, the same without that way's block that holds the most mma (the masked twin of a tile). Outer loops first.
std::vector<Way> loop_ways(const Flow& flow);

// The longest way from the entry to the first of the loops' heads, and from there to the end, without the blocks of any loop: what a block
// executes once, at most.
Counts once_counts(const Flow& flow, const std::vector<Way>& ways);

}  // namespace speedlight::model
