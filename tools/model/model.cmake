# The timing model (docs/model.md): a library of its own, for the command line tool and its tests.
file(GLOB model_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
add_library(speedlight_model STATIC ${model_sources})
target_include_directories(speedlight_model PUBLIC ${CMAKE_SOURCE_DIR}/tools)
target_compile_definitions(speedlight_model PRIVATE SPEEDLIGHT_DEPS="${SPEEDLIGHT_DEPS}")
target_link_libraries(speedlight_model PUBLIC speedlight_core)
