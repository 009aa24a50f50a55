# Flags of our own code; dependencies come in as SYSTEM headers. Designated initializers leave fields at their defaults on purpose.
add_library(speedlight_flags INTERFACE)
target_compile_options(speedlight_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Wno-psabi)
if(SPEEDLIGHT_WERROR)
  target_compile_options(speedlight_flags INTERFACE -Werror)
endif()
if(SPEEDLIGHT_SANITIZE)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_compile_options(speedlight_flags INTERFACE ${sanitizers})
  target_link_options(speedlight_flags INTERFACE ${sanitizers})
  # The address sanitizer opens libraries in the place of NVRTC, which then does not find its own beside it: an RPATH of the program's serves.
  target_link_options(speedlight_flags INTERFACE -Wl,--disable-new-dtags,-rpath,${SPEEDLIGHT_DEPS}/nvidia/cuda_nvrtc/lib)
endif()

# ---- what keeps a clean build short -----------------------------------------------------------------------------------------------------
# For code that takes longer to compile than to run: tests, and kernels on the emulator (they run 2 % longer for it, and compile in two
# thirds of the time).
add_library(speedlight_compiled_quickly INTERFACE)
target_compile_options(speedlight_compiled_quickly INTERFACE $<$<CONFIG:Release>:-O1>)

# Where headers (CLI11, JSON, GoogleTest) cost far more than the code after them, files are compiled several at a time. The rooms of the library
# are not: most edits are there. A changed file is compiled with its neighbours, which takes about as long as it did alone. OFF: each file by
# itself, with a row of its own in compile_commands.json, as clang-tidy wants it.
option(SPEEDLIGHT_UNITY "Compile files of the tool and of the tests several at a time" ON)
function(speedlight_compiled_together target batch)  # 0: all files of the target at once
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SPEEDLIGHT_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()
