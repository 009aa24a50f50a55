# Device sources and compiled kernels, embedded into speedlight_core. Included by CMakeLists.txt after speedlight_core is defined.
#
#   SPEEDLIGHT_BUNDLE=OFF          nothing is shipped compiled: every kernel is compiled at its first use (fast builds for developers)
#   SPEEDLIGHT_BUNDLE_FILE=<file>  a ready-made bundle, from `speedlight_bundle` on another machine: for cross builds, which cannot run
#                                  NVRTC, and for sanitizer builds, where NVRTC is slow. It must be made from the same device sources.
#   SPEEDLIGHT_NVRTC_LIBRARY       the pinned NVRTC that compiles the bundle
#   SPEEDLIGHT_BUNDLE_TARGETS      default "sm_80 sm_86 sm_90 sm_120 compute_80", the last as PTX
#
# What compiles kernels (problem, plan, store, platform) becomes the object library speedlight_offline, which speedlight_core and the build's
# own tool speedlight_bundle share. The folder nvrtc/ beside the build's programs is where they look for NVRTC before the system's.
option(SPEEDLIGHT_BUNDLE "Compile the shipped kernels at build time and embed them" ON)
set(SPEEDLIGHT_BUNDLE_FILE "" CACHE FILEPATH "A ready-made bundle to embed")
set(SPEEDLIGHT_BUNDLE_TARGETS sm_80 sm_86 sm_90 sm_120 compute_80 CACHE STRING "Targets that ship compiled")
set(SPEEDLIGHT_NVRTC_LIBRARY ${SPEEDLIGHT_DEPS}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 CACHE FILEPATH "The pinned NVRTC")

# ---- device sources as a table ------------------------------------------------------------------------------------------------------
set(speedlight_device_folder ${CMAKE_SOURCE_DIR}/src/device)
file(GLOB_RECURSE device_files CONFIGURE_DEPENDS ${speedlight_device_folder}/*.h)
set(device_sources ${CMAKE_BINARY_DIR}/generated/device_sources.cc)
add_custom_command(
  OUTPUT ${device_sources}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${speedlight_device_folder} -DOUTPUT=${device_sources} -P ${CMAKE_SOURCE_DIR}/cmake/embed_sources.cmake
  DEPENDS ${device_files} ${CMAKE_SOURCE_DIR}/cmake/embed_sources.cmake
  COMMENT "Embedding the device sources"
  VERBATIM)

# ---- the part of the core that compiles kernels, shared with the bundle tool --------------------------------------------------------
set(bundle_data ${CMAKE_SOURCE_DIR}/src/store/bundle_data.cc)
get_target_property(core_sources speedlight_core SOURCES)
set(offline_sources ${core_sources})
list(FILTER offline_sources INCLUDE REGEX "/src/(problem|plan|store|platform)/")
list(REMOVE_ITEM offline_sources ${bundle_data})
list(REMOVE_ITEM core_sources ${offline_sources})
add_library(speedlight_offline OBJECT ${offline_sources} ${device_sources})
target_include_directories(speedlight_offline PUBLIC src src/device include)
target_compile_definitions(speedlight_offline PUBLIC SPEEDLIGHT_VERSION="${PROJECT_VERSION}")
target_link_libraries(speedlight_offline PUBLIC speedlight_flags PRIVATE speedlight_fmt speedlight_zstd)
set_property(TARGET speedlight_core PROPERTY SOURCES ${core_sources})
target_sources(speedlight_core PRIVATE $<TARGET_OBJECTS:speedlight_offline>)

# ---- the bundle ---------------------------------------------------------------------------------------------------------------------
if(NOT CMAKE_CROSSCOMPILING)
  file(CREATE_LINK ${SPEEDLIGHT_DEPS}/nvidia/cuda_nvrtc/lib ${CMAKE_BINARY_DIR}/nvrtc SYMBOLIC)
endif()
if(SPEEDLIGHT_BUNDLE_FILE)
  # The digest of the device sources, as store/sources.cc defines it, against the one at byte 8 of the bundle.
  list(SORT device_files)
  set(lines "")
  foreach(file IN LISTS device_files)
    file(RELATIVE_PATH path ${speedlight_device_folder} ${file})
    file(SHA256 ${file} digest)
    string(APPEND lines "${digest} ${path}\n")
  endforeach()
  string(SHA256 expected "${lines}")
  file(READ ${SPEEDLIGHT_BUNDLE_FILE} found OFFSET 8 LIMIT 64)
  string(STRIP "${found}" found)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "SPEEDLIGHT_BUNDLE_FILE=${SPEEDLIGHT_BUNDLE_FILE} was made from other device sources (${found}, here ${expected})")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${device_files} ${SPEEDLIGHT_BUNDLE_FILE})
  set(bundle ${SPEEDLIGHT_BUNDLE_FILE})
elseif(SPEEDLIGHT_BUNDLE)
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "A cross build cannot compile kernels: give -DSPEEDLIGHT_BUNDLE_FILE=<file> from a native build, or -DSPEEDLIGHT_BUNDLE=OFF")
  endif()
  add_executable(speedlight_bundle tools/bundle/bundle.cc $<TARGET_OBJECTS:speedlight_offline>)
  target_link_libraries(speedlight_bundle PRIVATE speedlight_flags speedlight_fmt speedlight_zstd Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(speedlight_bundle PRIVATE src src/device include)
  set(bundle ${CMAKE_BINARY_DIR}/speedlight.bundle)
  add_custom_command(
    OUTPUT ${bundle}
    COMMAND ${CMAKE_COMMAND} -E env SPEEDLIGHT_NVRTC=${SPEEDLIGHT_NVRTC_LIBRARY} ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:speedlight_bundle> ${bundle}
            ${CMAKE_BINARY_DIR}/bundle-cache ${SPEEDLIGHT_BUNDLE_TARGETS}
    DEPENDS speedlight_bundle
    COMMENT "Compiling the shipped kernels"
    USES_TERMINAL
    VERBATIM)
endif()
if(bundle)
  set_source_files_properties(${bundle_data} PROPERTIES COMPILE_DEFINITIONS SPEEDLIGHT_BUNDLE_FILE="${bundle}" OBJECT_DEPENDS ${bundle})
endif()
