#include "model/sass.h"
#include <map>
#include "problem/error.h"

namespace speedlight::model {
namespace {

std::string_view trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t{}");  // braces pair instructions on old targets
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r;") + 1 - first);
}

// "/*05f0*/  @P1 BRA `(.L_x_0) ;" with the address cut off.
Instruction parse_instruction(std::string_view text) {
  Instruction made;
  text = trim(text);
  if (text.starts_with('@')) {
    const auto space = text.find(' ');
    made.guard = text.substr(1, space - 1);
    text = trim(text.substr(space));
  }
  const auto space = text.find(' ');
  made.opcode = text.substr(0, space);
  if (space != text.npos) made.operands = trim(text.substr(space));
  return made;
}

bool branches(const Instruction& i) { return i.is("BRA"); }

}  // namespace

std::vector<Instruction> parse_sass(std::string_view text, std::string_view kernel) {
  const std::string start = "\n.text." + std::string(kernel) + ":";
  const auto found = text.find(start);
  if (found == text.npos) throw Error(Status::invalid_argument, "disassembly: no section .text." + std::string(kernel));
  text.remove_prefix(found + start.size());

  std::vector<Instruction> code;
  std::map<std::string, int, std::less<>> labels;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.starts_with("//-----") || line.starts_with(".section")) break;
    if (line.starts_with('.') && line.ends_with(':')) labels.emplace(line.substr(0, line.size() - 1), int(code.size()));
    if (!line.starts_with("/*")) continue;
    const auto close = line.find("*/");
    const std::string_view rest = close == line.npos ? std::string_view{} : trim(line.substr(close + 2));
    if (!rest.empty() && !rest.starts_with("/*") && !rest.starts_with('.')) code.push_back(parse_instruction(rest));
  }
  for (Instruction& i : code) {
    const auto open = i.operands.find("`("), close = i.operands.find(')', open);
    if (!branches(i) || open == std::string::npos || close == std::string::npos) continue;
    const auto label = labels.find(i.operands.substr(open + 2, close - open - 2));
    if (label != labels.end() && label->second < int(code.size())) i.target = label->second;
  }
  return code;
}

}  // namespace speedlight::model
