# libspeedlight.so: the C ABI over speedlight_core, which it swallows whole. cmake/exports.map lists what leaves it.
add_library(speedlight SHARED ${api_sources})
add_library(speedlight::speedlight ALIAS speedlight)
set_target_properties(speedlight PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
target_compile_definitions(speedlight PRIVATE SPEEDLIGHT_BUILDING)
target_include_directories(speedlight PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(speedlight PRIVATE speedlight_flags $<BUILD_INTERFACE:speedlight_core> speedlight_fmt)
target_link_options(speedlight PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map
                    -Wl,--as-needed $<$<NOT:$<BOOL:${SPEEDLIGHT_SANITIZE}>>:-Wl,--no-undefined>)
include(cmake/package.cmake OPTIONAL)
