#include <algorithm>
#include <array>
#include <cctype>
#include "gpu/context.h"
#include "gpu/device.h"
#include "gpu/driver.h"

namespace speedlight::gpu {
namespace {

// Rates of a card that is not in the table: modelled from its clocks and width.
void model_rates(const Driver& d, CUdevice device, DeviceFacts& facts) {
  const auto read = [&](CUdevice_attribute attribute) {
    int value = 0;
    return d.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? double(value) : 0.0;
  };
  // Dense bf16 FLOP a clock and SM with fp32 accumulation, mma.sync.
  const double rate = facts.capability == 80 ? 2048 : facts.capability / 10 == 9 || facts.capability / 10 == 10 ? 2560 : 512;
  facts.mma_tflops = facts.sms * rate * read(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e3 / 1e12;
  facts.memory_tbs = 2 * read(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e3 * read(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8 / 1e12;
}

// "NVIDIA GeForce RTX 5090" contains the letters and digits of "rtx5090", but a laptop or a cut-down card of that name has fewer SMs.
void known_rates(DeviceFacts& facts) {
  std::string plain;
  for (const unsigned char c : facts.name)
    if (std::isalnum(c)) plain += char(std::tolower(c));
  for (const DeviceFacts& card : known_cards())
    if (card.capability == facts.capability && card.sms == facts.sms && plain.find(card.name) != std::string::npos) {
      facts.mma_tflops = card.mma_tflops;
      facts.memory_tbs = card.memory_tbs;
    }
}

}  // namespace

DriverFacts driver_facts() {
  DriverFacts facts;
  const Driver* d = find_driver(&facts.message);
  if (d == nullptr) return facts;
  return {true, driver_version_text(d->version), d->version, d->devices};
}

DeviceFacts device_facts(int ordinal) {
  const Driver& d = driver();
  check_ordinal(d, ordinal);
  CUdevice device;
  d.check(d.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  const auto read = [&](CUdevice_attribute attribute) {
    int value = 0;
    d.check(d.cuDeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute");
    return value;
  };
  std::array<char, 256> name{};
  d.check(d.cuDeviceGetName(name.data(), int(name.size()) - 1, device), "cuDeviceGetName");
  DeviceFacts facts;
  facts.name = name.data();
  facts.capability = read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 + read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.target = target_for(facts.capability);
  facts.sms = read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.shared_block = read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  facts.shared_sm = read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  facts.shared_reserved = read(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  facts.registers_sm = read(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  facts.threads_sm = read(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  facts.blocks_sm = read(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  if (facts.capability < 80)
    throw Error(Status::unknown_device, "device " + std::to_string(ordinal) + " (" + facts.name + ") has compute capability " +
                                            std::to_string(facts.capability / 10) + "." + std::to_string(facts.capability % 10) +
                                            ": must be 8.0 or newer");
  if (facts.capability / 10 == 12 && d.version < driver_floor_blackwell)
    throw Error(Status::no_driver, "the CUDA driver is too old for " + facts.name + ": it supports " + driver_version_text(d.version) +
                                       ", must be CUDA 12.8 (driver 570) or newer");
  model_rates(d, device, facts);
  known_rates(facts);
  return facts;
}

int current_device() {
  const Driver& d = driver();
  CUcontext current = nullptr;
  CUdevice device = 0;
  if (d.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) return 0;
  return d.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

}  // namespace speedlight::gpu
