// From the structs of the C ABI to the types of the rooms. Only what the translation itself needs is judged here.
#pragma once
#include <cstring>
#include <string>

#include "gpu/device.h"
#include "problem/problem.h"
#include "speedlight/speedlight.h"

namespace speedlight::api {

// Throws unless `size` covers the `known` bytes of the first version of the struct and everything after them is zero.
void check_struct(const void* given, size_t size, size_t known, const char* name);

// A checked copy of a struct that begins with struct_size.
template <class Struct>
Struct read_struct(const Struct* given, const char* name) {
  check_struct(given, given ? given->struct_size : 0, sizeof(Struct), name);
  Struct copy;
  std::memcpy(&copy, given, sizeof copy);
  return copy;
}

struct Target {
  bool cuda = false;
  int ordinal = 0;
  std::string card;  // empty: the device's own facts
  bool operator==(const Target&) const = default;
};

Problem to_problem(const speedlight_problem* given);
Pass to_pass(speedlight_pass given);
Target to_target(const speedlight_options* given);  // reads SPEEDLIGHT_CARD, and asks the driver which device is current
Pointers to_pointers(const speedlight_tensors* given);

// Replaces the alignment of each tensor by what its address has.
void align_to(Problem& problem, const Pointers& pointers);

}  // namespace speedlight::api
