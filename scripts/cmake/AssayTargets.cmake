# SPDX-License-Identifier: Apache-2.0
# The few target helpers that every folder shares.
include_guard(GLOBAL)
include(AssayPlugin)
include(AssayUnits)

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()

option(ASSAY_LONG_TESTS "Build with `all` what tests of scripts/test.sh --full need alone" OFF)

# Headers that the configuration writes; harness/core/base lets every layer include them.
set(ASSAY_GENERATED ${PROJECT_BINARY_DIR}/generated)

# Programs in bin/, plugins in lib/assay/plugins/: the same layout in the build folder and when installed, so that
# the program finds its plugins relative to itself.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(ASSAY_PLUGIN_DIR lib/assay/plugins)

# A relocatable package brings shared libraries in lib/assay/deps (scripts/package.sh). RPATH rather than RUNPATH: what
# those libraries need is then found in the same folder.
function(assay_find_deps_at target folder)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH $ORIGIN/${folder})
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# For install(TARGETS) of what is always built.
set(ASSAY_BUNDLED "")
if(ASSAY_BUNDLE_LIBRARIES)
  set(ASSAY_BUNDLED RUNTIME_DEPENDENCY_SET assay-libraries)
endif()

add_library(assay_warnings INTERFACE)
target_compile_features(assay_warnings INTERFACE cxx_std_20 c_std_11)
target_compile_options(assay_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
  # GCC 12 reports its own std::string operator+ (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# GCC goes through all of its own memory for what it no longer needs time and again as that grows, which takes a tenth of
# the build's time; it may have 1 GiB first (in KiB here), which few files reach when they are compiled together.
target_compile_options(assay_warnings INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")

# IEEE semantics exactly as written: no contraction to FMA, no value-changing optimisation. For everything that
# decides or produces numbers (every layer, the portable cpu backend).
add_library(assay_strict_fp INTERFACE)
target_compile_options(assay_strict_fp INTERFACE -ffp-contract=off -fno-fast-math)

# Options that make loops fast and little else: about half of the compile time of -O3.
set(ASSAY_MODERATE "SHELL:-O1 -ftree-vectorize -fvect-cost-model=dynamic -finline-functions")

# assay_compile_moderately(<target>): in Release, for code in which few loops are long. Files whose loops are compiled for
# several instruction sets keep -O3.
function(assay_compile_moderately target)
  target_compile_options(${target} PRIVATE
    "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:${ASSAY_MODERATE}>")
  assay_find_sources(sources ${target} "${ASSAY_LOOPS}")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  set_target_properties(${target} PROPERTIES ASSAY_KIND moderately)
endfunction()

# assay_compile_quickly(<target>): in Release too, with the optimisation that takes least time. For code that is large and
# runs for milliseconds, as that of the command line.
function(assay_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  set_target_properties(${target} PROPERTIES ASSAY_KIND quickly)
endfunction()

# assay_add_layer(NAME <target> [FAST | QUICK] [WITH <layer>] [DEPS targets...] [APART folders...]): every *.cc of the
# current folder and those below it but for folders that are layers of their own and for verbs (verb_*.cc), which belong to
# the command line, as one OBJECT library, because an object
# that only registers itself (an operator, a writer) would vanish from a static archive. FAST layers, those of loops, keep
# Release's -O3, QUICK ones are compiled quickly, all others moderately. WITH: where CMAKE_UNITY_BUILD is on, the files are
# compiled together with those of that layer, of the same kind, of which one depends on the other, which saves what reading
# their headers once more would take. The objects are then that layer's, which every target that links this one links, too.
function(assay_add_layer)
  cmake_parse_arguments(arg "FAST;QUICK" "NAME;WITH" "DEPS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/verb_[a-z_]+\\.cc$")
  foreach(folder IN LISTS arg_APART)
    file(GLOB_RECURSE apart ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc)
    list(REMOVE_ITEM sources ${apart})
  endforeach()
  if(arg_WITH AND CMAKE_UNITY_BUILD)
    set(kind moderately)
    if(arg_QUICK)
      set(kind quickly)
    endif()
    assay_join_layer(${arg_NAME} ${arg_WITH} ${kind} "${sources}" "${arg_DEPS}")
    return()
  endif()
  add_library(${arg_NAME} OBJECT ${sources})
  target_include_directories(${arg_NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PUBLIC assay_strict_fp ${arg_DEPS} PRIVATE assay_warnings)
  assay_keep_apart(${arg_NAME})
  if(CMAKE_UNITY_BUILD)
    assay_call_at_end(assay_gather ${arg_NAME})
  endif()
  if(arg_QUICK)
    assay_compile_quickly(${arg_NAME})
  elseif(NOT arg_FAST)
    assay_compile_moderately(${arg_NAME})
  endif()
  set_property(GLOBAL APPEND PROPERTY ASSAY_LAYERS ${arg_NAME})
endfunction()

# assay_add_plugin(NAME <backend> SOURCES ... [LIBRARIES ...] [DIRECTORY <folder>] [SHIPPED | APART]): a backend plugin,
# hidden but for its entry point. Programs look for plugins in ASSAY_PLUGIN_DIR alone; another folder hides one from
# them. SHIPPED: one of another folder that a verb needs, so that it is always installed. APART: one that takes long to
# build and has no device here belongs to target gpu, not to product.
function(assay_add_plugin)
  cmake_parse_arguments(arg "SHIPPED;APART" "NAME;DIRECTORY" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY ${ASSAY_PLUGIN_DIR})
  endif()
  set(target assay_backend_${arg_NAME})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE assay_plugin_common assay_warnings ${arg_LIBRARIES})
  assay_keep_apart(${target})
  assay_make_plugin(${target} ${arg_NAME})
  assay_find_deps_at(${target} ../deps)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${arg_DIRECTORY})
  if(arg_APART)
    set_property(GLOBAL APPEND PROPERTY ASSAY_PLUGINS_APART ${target})
    # Its kernels take minutes to compile. Builds of --full and of preset dev compile them with everything else.
    if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT ASSAY_LONG_TESTS)
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  else()
    set_property(GLOBAL APPEND PROPERTY ASSAY_PLUGINS ${target})
  endif()
  # A plugin that no run needs is not part of `product`: it is installed when it was built.
  set(optional "")
  set(bundled ${ASSAY_BUNDLED})
  if(NOT arg_SHIPPED AND (arg_APART OR NOT arg_DIRECTORY STREQUAL ASSAY_PLUGIN_DIR))
    set(optional OPTIONAL)
    set(bundled "")
  endif()
  install(TARGETS ${target} ${bundled} LIBRARY DESTINATION ${arg_DIRECTORY} ${optional})
endfunction()
