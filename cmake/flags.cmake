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
