#include "gpu/kernels.h"
#include <map>
#include <memory>
#include <mutex>
#include "gpu/device.h"
#include "store/store.h"

namespace speedlight::gpu {
namespace {

// One config's code for one target. The driver keeps a copy of the code for each context that uses it.
struct LoadedLibrary {
  std::mutex mutex;
  CUkernel kernel = nullptr;
  std::shared_ptr<const Code> code;   // its bytes must outlive the library
  std::map<int, i64> shared_allowed;  // by device: the most dynamic shared memory asked for so far
};

// Never destroyed: launches may come while the process ends.
struct Registry {
  std::mutex mutex;
  std::map<std::pair<std::string, int>, LoadedLibrary> libraries;  // by config text and target; nodes stay where they are
  std::map<std::string, std::unique_ptr<Prepared>> plans;          // by prepared_key
};

Registry& registry() {
  static Registry& one = *new Registry;
  return one;
}

std::string prepared_key(const Plan& plan, int ordinal) {
  const DeviceFacts& c = plan.card;
  std::string key = std::to_string(ordinal);
  for (const i64 limit :
       {i64(c.target), c.shared_block, c.shared_sm, c.shared_reserved, i64(c.registers_sm), i64(c.threads_sm), i64(c.blocks_sm)})
    key += "/" + std::to_string(limit);
  for (const PlannedLaunch& launch : plan.launches) key += "|" + to_text(launch.config) + "+" + std::to_string(launch.shared);
  return key;
}

bool is_twin(const DeviceFacts& card, const DeviceFacts& device) {
  const auto limits = [](const DeviceFacts& f) {
    return std::array<i64, 7>{f.target, f.shared_block, f.shared_sm, f.shared_reserved, f.registers_sm, f.threads_sm, f.blocks_sm};
  };
  return limits(card) != limits(device);
}

// Loads the code unless it is loaded already; the caller holds the library's mutex.
void load_code(const Driver& d, LoadedLibrary& library, const KernelConfig& config, const DeviceFacts& device) {
  if (library.kernel != nullptr) return;
  if (!runs_on(config, device.target))
    throw Error(Status::unsupported, to_text(config) + " does not run on " + device.name + " (compute capability " +
                                         std::to_string(device.capability / 10) + "." + std::to_string(device.capability % 10) + ")");
  library.code = find_code(config, device.target);
  CUlibrary loaded;
  const CUresult result = d.cuLibraryLoadData(&loaded, library.code->cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS) {
    std::string call = "cuLibraryLoadData of " + to_text(config) + " for " + device.name;
    if (library.code->is_ptx()) call += " (PTX of " + library.code->producer + ": needs a driver of that CUDA version or newer)";
    d.fail(result, call.c_str());
  }
  CUkernel kernel;
  d.check(d.cuLibraryGetKernel(&kernel, loaded, kernel_symbol(config).c_str()), "cuLibraryGetKernel");
  library.kernel = kernel;
}

// The function in the current context, loaded there now rather than at the first launch.
CUfunction resident_function(const Driver& d, CUkernel kernel) {
  CUfunction function;
  d.check(d.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
  if (d.cuFuncLoad) d.check(d.cuFuncLoad(function), "cuFuncLoad");
  return function;
}

void allow_shared(const Driver& d, LoadedLibrary& library, i64 bytes, int ordinal) {
  i64& allowed = library.shared_allowed[ordinal];
  if (bytes <= allowed) return;
  CUdevice device;
  d.check(d.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  d.check(d.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(bytes), library.kernel, device),
          "cuKernelSetAttribute");
  allowed = bytes;
}

// The least dynamic shared memory, from `shared` up, with which no more blocks share an SM of `device` than one of `card` could hold.
i64 padded_shared(const Driver& d, LoadedLibrary& library, CUfunction function, const PlannedLaunch& launch, const DeviceFacts& card,
                  const DeviceFacts& device, int ordinal) {
  auto code = find_shipped(launch.config, card.target);
  if (!code) code = find_code(launch.config, card.target);
  const int limit = blocks_per_sm(card, launch.threads, code->registers, launch.shared);
  if (limit < 1)
    throw Error(Status::unsupported, to_text(launch.config) + " does not fit an SM of " + card.name + " with " +
                                         std::to_string(code->registers) + " registers a thread and " + std::to_string(launch.shared) +
                                         " bytes of shared memory");
  const auto blocks_with = [&](i64 shared) {
    allow_shared(d, library, shared, ordinal);
    int blocks = 0;
    d.check(d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, launch.threads, std::size_t(shared)),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return blocks;
  };
  if (blocks_with(launch.shared) <= limit) return launch.shared;
  i64 shared = round_up<i64>(larger(launch.shared, device.shared_sm / (limit + 1) - device.shared_reserved), 128);
  while (blocks_with(shared) > limit) shared += 128;
  return shared;
}

LoadedKernel load_one(const Driver& d, const PlannedLaunch& launch, const DeviceFacts& card, const DeviceFacts& device, int ordinal) {
  LoadedLibrary* library;
  {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    library = &r.libraries[{to_text(launch.config), device.target}];
  }
  const std::lock_guard lock(library->mutex);  // held while the code compiles or loads, so that others wait for it and use it
  load_code(d, *library, launch.config, device);
  CUfunction function = resident_function(d, library->kernel);
  allow_shared(d, *library, launch.shared, ordinal);
  const i64 shared = is_twin(card, device) ? padded_shared(d, *library, function, launch, card, device, ordinal) : launch.shared;
  return {library->kernel, u32(shared)};
}

}  // namespace

const Prepared* find_prepared(const Plan& plan, int ordinal) {
  if (const void* prepared = plan.prepared.get(ordinal)) return static_cast<const Prepared*>(prepared);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto found = r.plans.find(prepared_key(plan, ordinal));
  if (found == r.plans.end()) return nullptr;
  plan.prepared.set(ordinal, found->second.get());
  return found->second.get();
}

const Prepared& load_plan(const Plan& plan, int ordinal) {
  const Driver& d = driver();
  const DeviceFacts device = device_facts(ordinal);
  if (plan.launches.size() > Prepared::max_launches)
    throw Error(Status::internal, "plan has " + std::to_string(plan.launches.size()) + " launches");
  auto prepared = std::make_unique<Prepared>();
  for (std::size_t i = 0; i < plan.launches.size(); ++i) prepared->launches[i] = load_one(d, plan.launches[i], plan.card, device, ordinal);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto [entry, added] = r.plans.try_emplace(prepared_key(plan, ordinal), std::move(prepared));
  plan.prepared.set(ordinal, entry->second.get());
  return *entry->second;
}

}  // namespace speedlight::gpu
