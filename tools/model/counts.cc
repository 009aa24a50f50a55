#include "model/counts.h"
#include <algorithm>
#include <initializer_list>

namespace speedlight::model {
namespace {

bool one_of(const Instruction& i, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return i.is(name); });
}
bool has(const Instruction& i, std::string_view modifier) { return i.opcode.find(modifier) != std::string::npos; }

// 128-byte passes of one warp's access.
int access_wavefronts(const Instruction& i) { return has(i, ".128") ? 4 : has(i, ".64") ? 2 : 1; }
int matrix_wavefronts(const Instruction& i) { return i.opcode.ends_with(".4") ? 4 : i.opcode.ends_with(".2") ? 2 : 1; }

}  // namespace

void Counts::add(const Instruction& i) {
  if (i.is("NOP")) return;
  ++instructions;
  if (i.is("HMMA")) {
    mma += 1;
  } else if (i.is("LDSM")) {
    ++ldmatrix, wavefronts += matrix_wavefronts(i);
  } else if (i.is("STSM")) {
    ++shared, wavefronts += matrix_wavefronts(i);
  } else if (one_of(i, {"LDS", "STS", "ATOMS"})) {
    ++shared, wavefronts += access_wavefronts(i);
  } else if (i.is("LDGSTS")) {
    ++copies, wavefronts += access_wavefronts(i);
  } else if (one_of(i, {"UTMALDG", "UBLKCP"})) {
    ++bulk_copies;
  } else if (i.is("SHFL")) {
    ++shuffles, ++wavefronts;
  } else if (i.is("MUFU")) {
    ++mufu;
  } else if (one_of(i, {"FFMA2", "FADD2", "FMUL2"})) {
    fp32 += 2;
  } else if (one_of(i, {"FFMA", "FADD", "FMUL", "FSEL", "FSETP", "FSET", "FCHK", "HFMA2", "HADD2", "HMUL2"})) {
    ++fp32;
  } else if (one_of(i, {"FMNMX", "FMNMX3"})) {
    ++minmax;
  } else if (one_of(i, {"F2FP", "F2F", "F2I", "I2F", "I2FP"})) {
    ++convert;
  } else if (one_of(i, {"VOTE", "VOTEU"})) {
    ++vote;
  } else if (i.is("BAR")) {
    ++barrier;
  } else if (i.is("SYNCS")) {
    ++mbarrier;
  } else if (one_of(i, {"BRA", "BSSY", "BSYNC", "BREAK", "CALL", "RET", "EXIT", "WARPSYNC", "BMOV", "YIELD"})) {
    ++branch;
  } else if (one_of(i, {"RED", "REDG", "ATOMG", "ATOM"})) {
    ++reduce;
  } else if (one_of(i, {"LDG", "STG", "LD", "ST"})) {
    ++global;
  } else if (one_of(i, {"LDL", "STL"})) {
    ++local;
  } else if (i.opcode.starts_with('U') || one_of(i, {"R2UR", "S2UR", "LDCU"})) {
    ++uniform;
  } else {
    ++integer;
  }
}

Counts& Counts::operator+=(const Counts& other) {
  std::vector<int> values;
  each_count(other, [&](const char*, int value) { values.push_back(value); });
  size_t at = 0;
  each_count(*this, [&](const char*, int& value) { value += values[at++]; });
  return *this;
}

}  // namespace speedlight::model
