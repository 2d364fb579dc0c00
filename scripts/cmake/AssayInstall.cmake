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

# The Python module, which finds the library beside itself: PYTHONPATH=<prefix>/lib/assay/python.
install(DIRECTORY harness/python/assay DESTINATION lib/assay/python PATTERN __pycache__ EXCLUDE)

# A wheel brings its shared libraries, as a relocatable package does (scripts/package.sh).
if(ASSAY_BUNDLE_LIBRARIES)
  install(RUNTIME_DEPENDENCY_SET assay-libraries DESTINATION lib/assay/deps
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|mvec|dl|pthread|rt|resolv|util|gcc_s|stdc\\+\\+)\\.so"
      "^lib(vulkan|cuda|cudart|cudnn|cublas|cufft|nvrtc|amdhip64|hsa-runtime64)")
endif()

# The guides, each at its place in the tree, so that they find each other, and what the vendors' guide starts from.
set(doc_folder share/doc/assay)
set(guides README.md CONTRIBUTING.md CHANGELOG.md)
foreach(folder backends golden ops reports harness)
  file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.md)
  list(APPEND guides ${found})
endforeach()
foreach(guide IN LISTS guides)
  get_filename_component(folder ${guide} DIRECTORY)
  install(FILES ${guide} DESTINATION ${doc_folder}/${folder})
endforeach()
install(FILES reports/example.png DESTINATION ${doc_folder}/reports)
install(DIRECTORY reports/published/frameworks/proofs DESTINATION ${doc_folder}/reports/published/frameworks)
install(FILES reports/published/frameworks/run/results.jsonl.gz DESTINATION ${doc_folder}/reports/published/frameworks/run)
install(DIRECTORY reports/published/nvidia/runs DESTINATION ${doc_folder}/reports/published/nvidia)
install(DIRECTORY harness/judge/plots DESTINATION ${doc_folder}/harness/judge)
install(DIRECTORY tests/consumer/vendor tests/consumer/gate DESTINATION ${doc_folder}/tests/consumer)

# A man page for each verb, from the program's own --help.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
install(CODE "
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/man_pages.py $<TARGET_FILE:assay>
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/man/man1\" COMMAND_ERROR_IS_FATAL ANY)")
