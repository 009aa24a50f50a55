// Recorded outputs of a GPU, in a file.
#pragma once
#include <string>
#include <vector>

#include "conformance/groups.h"

namespace speedlight::conformance {

constexpr u64 recorded_seed = 1;

struct RecordedGroup {
  std::string name;
  u64 input_digest;
  std::vector<u8> output;
};
struct Vectors {
  std::string device;
  std::vector<RecordedGroup> groups;  // made with recorded_seed
};

u64 digest(const Group& group);                               // of the input and the launch: recordings for other inputs say nothing
void write(const Vectors& vectors, const std::string& path);  // throws Error(internal) that says why
Vectors read_vectors(const std::string& path);                // throws Error(invalid_argument) that names the file

}  // namespace speedlight::conformance
