#include <cstring>
#include <memory>

#include "conformance/kernels.h"
#include "conformance/run.h"
#include "launch.h"
#include "memory.h"
#include "tensor_map.h"

namespace speedlight::conformance {
namespace {

using Kernel = void (*)(const Arguments&);

Kernel find(const std::string& name) {
#define SPEEDLIGHT_FIND(kernel) \
  if (name == #kernel) return [](const Arguments& a) { kernel(a); };
  SPEEDLIGHT_CONFORMANCE_KERNELS(SPEEDLIGHT_FIND)
#undef SPEEDLIGHT_FIND
  throw Error(Status::internal, "no kernel is named " + name);
}

struct alignas(256) Line {
  u8 bytes[256];
};
std::unique_ptr<Line[]> buffer(std::size_t bytes) { return std::make_unique<Line[]>((bytes + 255) / 256); }

}  // namespace

std::vector<u8> run_emulated(const Group& group, const Adversary& adversary) {
  const auto input = buffer(group.input.size()), output = buffer(std::size_t(group.output_bytes));
  std::memcpy(input.get(), group.input.data(), group.input.size());
  const emulator::Region in("input", input.get(), i64(group.input.size()), emulator::Access::input);
  const emulator::Region out("output", output.get(), group.output_bytes, emulator::Access::output);
  Arguments a{};
  a.input = input[0].bytes, a.output = output[0].bytes;
  if (group.bulk) {
    const BulkTensor& t = *group.bulk;
    a.boxes = t.boxes, a.slabs = t.slabs, a.box_rows = t.box_rows;
    a.map = emulator::make_tensor_map({input[0].bytes + t.offset, t.batch_stride, t.row_stride, t.head_stride}, 2, t.dim, t.rows, t.heads,
                                      t.batch, 64, t.box_rows);
  }
  const Kernel kernel = find(group.kernel);
  emulator::launch(group.grid, group.threads, group.shared_bytes, [&] { kernel(a); },
                   {.landing = adversary.late ? emulator::Landing::late : emulator::Landing::at_once,
                    .warps = adversary.random ? emulator::Warps::random : emulator::Warps::greedy,
                    .blocks = adversary.random ? emulator::Blocks::shuffled : emulator::Blocks::forward,
                    .seed = adversary.seed,
                    .name = "conformance " + group.name});
  return {output[0].bytes, output[0].bytes + group.output_bytes};
}

}  // namespace speedlight::conformance
