# Flags of the CPU backend, file by file: the kernels are compiled once for each instruction set and chosen at run time.
set(kernel_flags -O3 -fno-math-errno)
set_source_files_properties(src/cpu/kernels_baseline.cc PROPERTIES COMPILE_OPTIONS "${kernel_flags}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set_source_files_properties(src/cpu/kernels_v3.cc PROPERTIES COMPILE_OPTIONS "${kernel_flags};-march=x86-64-v3")
  # GCC 12 takes the undefined operands inside its own AVX-512 intrinsics for uninitialised variables of ours.
  set_source_files_properties(src/cpu/kernels_v4.cc PROPERTIES COMPILE_OPTIONS
                              "${kernel_flags};-march=x86-64-v4;-Wno-uninitialized;-Wno-maybe-uninitialized")
endif()
# The reference's products are Eigen's too: tests spend their time there.
set_source_files_properties(src/cpu/reference.cc PROPERTIES COMPILE_OPTIONS "-O3")
unset(kernel_flags)

# `cmake --build . --target benchmark_cpu`: the backend's rate beside that of Eigen's product.
add_executable(benchmark_cpu EXCLUDE_FROM_ALL benchmarks/cpu.cc)
target_link_libraries(benchmark_cpu PRIVATE speedlight_core)
