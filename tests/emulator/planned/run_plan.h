// Runs a plan's launches on the emulator: the planned grid, parameters and workspace, through the binding that the GPU uses.
#pragma once
#include <map>
#include <string>

#include "gpu/device.h"
#include "launch.h"

namespace speedlight::emulator {

using KernelEntry = void (*)(const void* params);

// Every kernel compiled into this program, by the canonical text of its config.
std::map<std::string, KernelEntry>& kernels();

// A static of this type registers a kernel.
struct RegisterKernel {
  RegisterKernel(const char* text, KernelEntry entry) { kernels().emplace(text, entry); }
};

// Registers every tensor and workspace region of the plan with its true extent, poisons outputs and workspace, runs the launches and checks
// that every element of every output was written. `config.name` is replaced by the kernels' texts. Throws Fault; std::out_of_range when a
// config is not compiled in.
// With SPEEDLIGHT_EMULATOR_TRACE set in the environment it also prints the counts of every launch.
Counts run_plan(const Plan& plan, const Pointers& pointers, Config config);

}  // namespace speedlight::emulator
