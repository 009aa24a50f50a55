# The installed package: library, headers, find_package(speedlight), pkg-config.
include(CMakePackageConfigHelpers)
install(TARGETS speedlight EXPORT speedlight LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/speedlight/speedlight.h include/speedlight/speedlight.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/speedlight)
install(FILES LICENSE NOTICES DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/speedlight)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/speedlight)
# The export has one target without dependencies, so it is the package's configuration as it is.
install(EXPORT speedlight NAMESPACE speedlight:: FILE speedlight-config.cmake DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/speedlight-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/speedlight-config-version.cmake DESTINATION ${package_folder})
file(RELATIVE_PATH PC_INCLUDE /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/speedlight.pc.in ${CMAKE_BINARY_DIR}/speedlight.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/speedlight.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
