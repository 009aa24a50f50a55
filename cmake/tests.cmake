# GoogleTest executables, one a room. Tests that need a GPU skip themselves without one, and ctest counts them as skipped.
include(GoogleTest)

# speedlight_tests(<room> <libraries...>): builds tests/<room>/*_test.cc and registers each test with ctest.
function(speedlight_tests room)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${room}/*_test.cc)
  list(FILTER sources EXCLUDE REGEX "_emulated_test\\.cc$")
  if(sources)
    speedlight_test_program(${room}_tests "${sources}" ${ARGN})
    speedlight_compiled_together(${room}_tests 0)
  endif()
endfunction()

function(speedlight_test_program name sources)
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE speedlight_compiled_quickly ${ARGN} speedlight_fmt nlohmann_json::nlohmann_json GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SPEEDLIGHT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SPEEDLIGHT_BUILD_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES TIMEOUT 600
                       ENVIRONMENT "SPEEDLIGHT_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache")
endfunction()

foreach(room problem plan store gpu cpu kernels)
  speedlight_tests(${room} speedlight_core Eigen3::Eigen)
endforeach()
include(${CMAKE_SOURCE_DIR}/tests/gpu/fake/fake.cmake OPTIONAL)

if(NOT CMAKE_CROSSCOMPILING)  # the emulator switches fibers, and qemu would only slow it down
  add_subdirectory(tests/emulator)
  if(NOT SPEEDLIGHT_SANITIZE)
    add_subdirectory(tests/emulator/mutants)
  endif()
  add_subdirectory(tests/conformance)
  file(GLOB emulated_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/kernels/*_emulated_test.cc)
  if(emulated_sources AND TARGET emulator)
    speedlight_test_program(kernels_emulated_tests "${emulated_sources}" speedlight_core emulator)
    target_include_directories(kernels_emulated_tests BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/tests/emulator)
  endif()
endif()

if(TARGET speedlight)
  speedlight_tests(api speedlight speedlight_core)
  include(${CMAKE_SOURCE_DIR}/tests/package/package.cmake OPTIONAL)
endif()
