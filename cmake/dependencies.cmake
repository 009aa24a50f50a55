# Everything Speedlight builds on. All of it is linked statically or is headers only; CUDA and NVRTC are opened at run time.
find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

# fmt, compiled once (cmake/fmt.cc, which knows fmt 9): its headers alone take 2 to 3 s of every file that includes them. Other versions so.
find_path(SPEEDLIGHT_FMT_INCLUDE fmt/format.h REQUIRED)
file(STRINGS ${SPEEDLIGHT_FMT_INCLUDE}/fmt/core.h fmt_version REGEX "define FMT_VERSION 9")
if(fmt_version)
  add_library(speedlight_fmt STATIC cmake/fmt.cc)
else()
  add_library(speedlight_fmt INTERFACE)
  target_compile_definitions(speedlight_fmt INTERFACE FMT_HEADER_ONLY)
endif()

# zstd, static.
find_path(SPEEDLIGHT_ZSTD_INCLUDE zstd.h REQUIRED)
find_library(SPEEDLIGHT_ZSTD_LIBRARY NAMES libzstd.a REQUIRED)
add_library(speedlight_zstd INTERFACE)
target_link_libraries(speedlight_zstd INTERFACE ${SPEEDLIGHT_ZSTD_LIBRARY})

# Headers of the driver and NVRTC, types and constants only (wheels unpacked by `make setup`).
set(SPEEDLIGHT_CUDA_INCLUDES ${SPEEDLIGHT_DEPS}/nvidia/cuda_runtime/include ${SPEEDLIGHT_DEPS}/nvidia/cuda_nvrtc/include)
foreach(header cuda_runtime/include/cuda.h cuda_nvrtc/include/nvrtc.h)
  if(NOT EXISTS ${SPEEDLIGHT_DEPS}/nvidia/${header})
    message(FATAL_ERROR "${SPEEDLIGHT_DEPS}/nvidia/${header} is missing: run `make setup`, or give -DSPEEDLIGHT_DEPS=<folder with nvidia/>")
  endif()
endforeach()

if(SPEEDLIGHT_TOOLS OR SPEEDLIGHT_TESTS)
  find_package(nlohmann_json 3.10 REQUIRED)
endif()
if(SPEEDLIGHT_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(SPEEDLIGHT_TESTS)
  if(CMAKE_CROSSCOMPILING)  # Debian's GoogleTest sources, built for the target
    add_subdirectory(/usr/src/googletest/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  else()
    find_package(GTest REQUIRED)
  endif()
endif()
