// Machine code as nvdisasm prints it: one instruction an entry, branch targets resolved.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace speedlight::model {

struct Instruction {
  std::string guard;     // "", "P0", "!P0", "!UP1"
  std::string opcode;    // with its modifiers: "HMMA.16816.F32.BF16"
  std::string operands;  // as printed
  int target = -1;       // a branch's: index of an instruction; -1: none, or outside the function

  bool is(std::string_view name) const { return opcode == name || opcode.starts_with(std::string(name) + "."); }
};

// The instructions of section .text.<kernel>, in order. Throws Error(invalid_argument) where the text holds no such section.
std::vector<Instruction> parse_sass(std::string_view text, std::string_view kernel);

}  // namespace speedlight::model
