# SPDX-License-Identifier: Apache-2.0
# The installed package: find_package(assay). The files themselves are installed where they are made.
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/assay)

math(EXPR assay_fmt_limit "${fmt_VERSION_MAJOR} + 1")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/assay-config.cmake.in ${PROJECT_BINARY_DIR}/assay-config.cmake
  INSTALL_DESTINATION ${package_folder})
# A minor version below 1.0 may change what the package offers.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assay-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assay-config.cmake ${PROJECT_BINARY_DIR}/assay-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/AssayPlugin.cmake ${CMAKE_CURRENT_LIST_DIR}/plugin_exports.map
  DESTINATION ${package_folder})
install(EXPORT assay-targets NAMESPACE assay:: DESTINATION ${package_folder})
install(EXPORT assay-plugin_common-targets NAMESPACE assay:: DESTINATION ${package_folder})
