// A stand-in for libcuda.so.1 that records what it is asked for: the host side of launching, tested without a GPU.
#pragma once
#include <cuda.h>
#include <mutex>
#include <vector>

struct FakeLaunch {
  const char* kernel;
  unsigned grid, threads, shared;
  CUstream stream;
  CUcontext context;  // current at the launch
};

// Contexts are 0x1000 + device, streams 0x2000 + device.
struct FakeCuda {
  // What the machine is like; set before the first call.
  int version = 12080, devices = 2, capability = 90;
  // What happens.
  CUresult launch_result = CUDA_SUCCESS;
  bool capturing = false;
  // What was asked for.
  std::mutex mutex;
  std::vector<FakeLaunch> launches;
  std::vector<CUtensorMapDataType> maps;
  int libraries = 0, from_ptx = 0;
};

extern "C" {
FakeCuda* fake_cuda();
}
