// compile_kernels <kernels.h> <output.cc> <target>...: compiles the conformance kernels by the pinned NVRTC and writes them as an array.
#include <cstdio>
#include <string>

#include "platform/files.h"
#include "problem/error.h"
#include "store/bundle.h"
#include "store/identity.h"
#include "store/nvrtc.h"
#include "store/recipe.h"
#include "store/sources.h"

namespace speedlight::store {

std::span<const u8> embedded_bundle() { return {}; }  // a tool of the build holds none

namespace {

std::vector<u8> compiled(const std::string& source, int target) {
  std::vector<SourceFile> headers;
  for (const SourceFile* file : DeviceSources::current().reached_from(source)) headers.push_back(*file);
  Nvrtc::Output output = Nvrtc::instance().compile("conformance.cu", source, headers, compile_options(target));
  if (!output.compiled) throw Error(Status::compile_failed, "the conformance kernels for sm_" + std::to_string(target) + ": " + output.log);
  return std::move(output.code);
}

void write_kernels(int count, char** arguments) {
  if (count < 4) throw Error(Status::invalid_argument, "usage: compile_kernels <kernels.h> <output.cc> <target>...");
  const auto bytes = platform::read_file(arguments[1]);
  if (!bytes) throw Error(Status::invalid_argument, std::string(arguments[1]) + " cannot be read");
  std::string text = "#include \"conformance/run.h\"\n\nnamespace speedlight::conformance {\nnamespace {\n", table;
  for (int i = 3; i < count; ++i) {
    const std::string target = std::to_string(parse_target(arguments[i]));
    const std::vector<u8> code = compiled({bytes->begin(), bytes->end()}, std::stoi(target));
    text += "alignas(16) const u8 code_" + target + "[] = {";
    for (std::size_t b = 0; b < code.size(); ++b) text += (b % 32 ? "" : "\n") + std::to_string(code[b]) + ",";
    text += "};\n";
    table += "{" + target + ", code_" + target + ", sizeof code_" + target + "},\n";
  }
  text += "}  // namespace\nconst Machine machines[] = {\n" + table + "};\nconst int machine_count = " + std::to_string(count - 3) +
          ";\n}  // namespace speedlight::conformance\n";
  const std::vector<u8> all(text.begin(), text.end());
  if (const std::string why = platform::write_file_atomically(arguments[2], all); !why.empty())
    throw Error(Status::internal, std::string(arguments[2]) + ": " + why);
}

}  // namespace
}  // namespace speedlight::store

int main(int count, char** arguments) {
  try {
    speedlight::store::write_kernels(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_kernels: %s\n", error.what());
    return 1;
  }
}
