# The host side of launching against a fake driver: built as libcuda.so.1 in a folder of its own, and opened by the tests before anything else.
add_library(fake_cuda SHARED ${CMAKE_CURRENT_LIST_DIR}/fake_cuda.cc ${CMAKE_CURRENT_LIST_DIR}/fake_unused.c)
target_include_directories(fake_cuda SYSTEM PRIVATE ${SPEEDLIGHT_CUDA_INCLUDES})
set_target_properties(fake_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake
                      CXX_VISIBILITY_PRESET default C_VISIBILITY_PRESET default)
speedlight_test_program(gpu_fake_tests ${CMAKE_CURRENT_LIST_DIR}/fake_driver_test.cc speedlight_core)
target_compile_definitions(gpu_fake_tests PRIVATE FAKE_CUDA="$<TARGET_FILE:fake_cuda>")
add_dependencies(gpu_fake_tests fake_cuda)
