# SPDX-License-Identifier: Apache-2.0
# The few target helpers that every folder shares.
include_guard(GLOBAL)
include(AssayPlugin)

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

# Headers that the configuration writes; harness/base lets every layer include them.
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

# assay_find_sources(<variable> <target> <regex>): those of its sources with a line that matches.
function(assay_find_sources variable target regex)
  get_target_property(sources ${target} SOURCES)
  set(found "")
  foreach(source IN LISTS sources)
    if(EXISTS ${source} OR EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      file(STRINGS ${source} lines REGEX "${regex}" LIMIT_COUNT 1)
      if(lines)
        list(APPEND found ${source})
      endif()
    endif()
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# assay_keep_apart(<target>): what Highway compiles once per instruction set stands alone where CMAKE_UNITY_BUILD is on.
function(assay_keep_apart target)
  assay_find_sources(sources ${target} "hwy/foreach_target.h")
  set_property(SOURCE ${sources} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# assay_gather(<target>): where CMAKE_UNITY_BUILD is on, CMake compiles files of a target together but for those with options
# of their own. This does the same with those: a file for each set of options, and for what Highway compiles once per
# instruction set, whose own headers take longer than most of the kernels. Once it includes such a file, foreach_target.h has
# been read, so that the inclusion in it does nothing.
function(assay_gather target)
  get_target_property(sources ${target} SOURCES)
  assay_find_sources(kernels ${target} "hwy/foreach_target.h")
  set(groups "")
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(NOT options AND NOT source IN_LIST kernels)
      continue()
    endif()
    set(group loops)
    if(source IN_LIST kernels)
      set(group kernels)
    endif()
    string(SHA1 hash "${options}")
    string(SUBSTRING ${hash} 0 8 hash)
    string(PREPEND hash ${group}_)
    list(APPEND groups ${hash})
    list(APPEND files_${hash} ${source})
    set(options_${hash} "${options}")
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    list(LENGTH files_${group} count)
    if(count GREATER 1)
      assay_write_gathered(${target} ${group} "${files_${group}}" "${options_${group}}")
    endif()
  endforeach()
endfunction()

function(assay_write_gathered target name sources options)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}.cc)
  list(TRANSFORM sources REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE text)
  list(JOIN text "\n" text)
  if(name MATCHES "^kernels")
    set(this "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${path}\"\n")
    set(text "${this}#include \"hwy/foreach_target.h\"\n#include \"hwy/highway.h\"\n${text}\n${this}")
  endif()
  file(CONFIGURE OUTPUT ${path} CONTENT "${text}\n" @ONLY)
  target_sources(${target} PRIVATE ${path})
  set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  set_source_files_properties(${path} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(options)
    set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "${options}")
  endif()
endfunction()

# assay_balance_units(): of the files of a layer that are compiled together, each unit gets as many as the next one, not the
# last one a few.
function(assay_balance_units)
  get_property(layers GLOBAL PROPERTY ASSAY_LAYERS)
  foreach(layer IN LISTS layers)
    get_target_property(sources ${layer} SOURCES)
    list(LENGTH sources files)
    math(EXPR units "(${files} - 1) / ${CMAKE_UNITY_BUILD_BATCH_SIZE} + 1")
    math(EXPR size "(${files} - 1) / ${units} + 1")
    set_target_properties(${layer} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
  endforeach()
endfunction()

# assay_compile_moderately(<target>): in Release, what makes loops fast and little else: two thirds of the compile time of
# -O3, for code in which few loops are long. Files whose loops are compiled for several instruction sets keep -O3 (and so,
# as options of their own, stand alone).
function(assay_compile_moderately target)
  set(options "SHELL:-O1 -ftree-vectorize -fvect-cost-model=dynamic -finline-functions")
  target_compile_options(${target} PRIVATE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:${options}>")
  assay_find_sources(sources ${target} "hwy/foreach_target.h|ASSAY_MULTIVERSION")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
endfunction()

# assay_compile_quickly(<target>): in Release too, with the optimisation that takes least time. For code that is large and
# runs for milliseconds, as that of the command line.
function(assay_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
endfunction()

# assay_join_layer(<target> <layer> <sources> <deps>): a layer without objects, whose sources are that layer's. That may be
# added later, and what this one depends on may be that layer itself, so that only libraries are handed to it.
function(assay_join_layer target layer sources deps)
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} INTERFACE ${deps})
  list(FILTER deps EXCLUDE REGEX "^assay_")
  cmake_language(EVAL CODE "
    cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL target_sources ${layer} PRIVATE [[${sources}]])
    cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL target_link_libraries ${layer} PUBLIC [[${deps}]])")
endfunction()

# assay_add_layer(NAME <target> [FAST | QUICK] [WITH <layer>] [DEPS targets...] [APART folders...]): every *.cc of the current folder and
# those below it but for folders that are layers of their own, as one OBJECT library, because an object that only registers
# itself (an operator, a writer) would vanish from a static archive. FAST layers, those of loops, keep Release's -O3, QUICK
# ones are compiled quickly, all others moderately. WITH: where CMAKE_UNITY_BUILD is on, the files are compiled together with
# those of that layer, which is of the same kind and depends on this one, or this one on it: what both include is then read
# once, which most of a small layer's time goes to. The objects are that layer's then, so not where there are tests, many of
# which link few layers.
function(assay_add_layer)
  cmake_parse_arguments(arg "FAST;QUICK" "NAME;WITH" "DEPS;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(folder IN LISTS arg_APART)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  if(arg_WITH AND CMAKE_UNITY_BUILD AND NOT ASSAY_BUILD_TESTS)
    assay_join_layer(${arg_NAME} ${arg_WITH} "${sources}" "${arg_DEPS}")
    return()
  endif()
  add_library(${arg_NAME} OBJECT ${sources})
  target_include_directories(${arg_NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PUBLIC assay_strict_fp ${arg_DEPS} PRIVATE assay_warnings)
  assay_keep_apart(${arg_NAME})
  if(CMAKE_UNITY_BUILD)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL assay_gather ${arg_NAME})")
  endif()
  if(arg_QUICK)
    assay_compile_quickly(${arg_NAME})
  elseif(NOT arg_FAST)
    assay_compile_moderately(${arg_NAME})
  endif()
  set_property(GLOBAL APPEND PROPERTY ASSAY_LAYERS ${arg_NAME})
endfunction()

# assay_add_plugin(NAME <backend> SOURCES ... [LIBRARIES ...] [DIRECTORY <folder>] [APART]): a backend plugin,
# hidden but for its entry point. Programs look for plugins in ASSAY_PLUGIN_DIR alone; another folder hides one from
# them. APART: one that takes long to build and has no device here belongs to target gpu, not to product.
function(assay_add_plugin)
  cmake_parse_arguments(arg "APART" "NAME;DIRECTORY" "SOURCES;LIBRARIES" ${ARGN})
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
  else()
    set_property(GLOBAL APPEND PROPERTY ASSAY_PLUGINS ${target})
  endif()
  # A plugin that no run needs is not part of `product`: it is installed when it was built.
  set(optional "")
  set(bundled ${ASSAY_BUNDLED})
  if(arg_APART OR NOT arg_DIRECTORY STREQUAL ASSAY_PLUGIN_DIR)
    set(optional OPTIONAL)
    set(bundled "")
  endif()
  install(TARGETS ${target} ${bundled} LIBRARY DESTINATION ${arg_DIRECTORY} ${optional})
endfunction()
