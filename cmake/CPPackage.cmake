# The package: what cmake --install lays down, and a CPConfig.cmake for it and for
# the build tree.
include(CMakePackageConfigHelpers)

set(CP_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/CP)
set(CP_BUILD_PACKAGE_DIR ${PROJECT_BINARY_DIR}/${CP_PACKAGE_DIR})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc")
install(FILES ${PROJECT_SOURCE_DIR}/include/cp/Runtime/cprt.h
              ${PROJECT_SOURCE_DIR}/include/cp/Runtime/cprt_batch.h
              ${PROJECT_SOURCE_DIR}/include/cp/Runtime/cprt_program.h
              ${PROJECT_SOURCE_DIR}/include/cp/Runtime/cprt_history.h
              ${PROJECT_SOURCE_DIR}/include/cp/Runtime/cprt_transport.h
              ${PROJECT_SOURCE_DIR}/include/cp/Runtime/cprt_device.h
              ${PROJECT_BINARY_DIR}/include/cp/Runtime/GroupOperations.h.inc
              ${PROJECT_BINARY_DIR}/include/cp/Runtime/LocalOperations.h.inc
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cp/Runtime COMPONENT runtime)
install(EXPORT CPTargets NAMESPACE CP:: DESTINATION ${CP_PACKAGE_DIR})
install(EXPORT CPRuntimeTargets NAMESPACE CP:: DESTINATION ${CP_PACKAGE_DIR}
  COMPONENT runtime)
foreach(set CPTargets CPRuntimeTargets)
  export(EXPORT ${set} NAMESPACE CP:: FILE ${CP_BUILD_PACKAGE_DIR}/${set}.cmake)
endforeach()

write_basic_package_version_file(${CP_BUILD_PACKAGE_DIR}/CPConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)

# What the two configurations differ in: where headers and TableGen files are.
set(include_dirs ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
configure_package_config_file(cmake/CPConfig.cmake.in
  ${CP_BUILD_PACKAGE_DIR}/CPConfig.cmake
  INSTALL_DESTINATION ${CP_BUILD_PACKAGE_DIR}
  INSTALL_PREFIX ${PROJECT_BINARY_DIR}
  NO_SET_AND_CHECK_MACRO)
set(include_dirs "\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_INCLUDEDIR}")
configure_package_config_file(cmake/CPConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/CPConfig.cmake
  INSTALL_DESTINATION ${CP_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
install(FILES ${PROJECT_BINARY_DIR}/cmake/CPConfig.cmake
              ${CP_BUILD_PACKAGE_DIR}/CPConfigVersion.cmake
  DESTINATION ${CP_PACKAGE_DIR} COMPONENT runtime)
