# SPDX-License-Identifier: Apache-2.0
# Where CMAKE_UNITY_BUILD is on, CMake compiles files of a target together: what they include is then read once, which most
# of a small file's time goes to. Here is what it leaves to its user: files with options of their own, kernels of Highway,
# units of like size, and small targets.
include_guard(GLOBAL)

# Lines of files that are compiled for several instruction sets: once for each by Highway, and those or loops of GCC's.
set(ASSAY_KERNELS "hwy/foreach_target.h")
set(ASSAY_LOOPS "${ASSAY_KERNELS}|ASSAY_MULTIVERSION")

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

# assay_keep_apart(<target>): CMake compiles none of the files that Highway compiles once per instruction set with others.
function(assay_keep_apart target)
  assay_find_sources(sources ${target} "${ASSAY_KERNELS}")
  set_property(SOURCE ${sources} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# assay_call_at_end(<function> <argument>): at the end of the current folder, when it has set what it sets for its files.
# DEFER expands its arguments when the call is made, EVAL does now.
function(assay_call_at_end name argument)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL ${name} ${argument})")
endfunction()

# assay_gather(<target>): files of the same options, which CMake compiles each by itself, become one file, and so do kernels
# of Highway, whose headers take longer to read than most kernels to compile.
function(assay_gather target)
  get_target_property(sources ${target} SOURCES)
  assay_find_sources(kernels ${target} "${ASSAY_KERNELS}")
  set(groups "")
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    get_source_file_property(folders ${source} INCLUDE_DIRECTORIES)
    if(definitions OR folders OR (NOT options AND NOT source IN_LIST kernels))
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

# foreach_target.h includes the file that HWY_TARGET_INCLUDE names once for each instruction set. Here that is the gathered
# file: the guard of foreach_target.h lets the kernels' own inclusions do nothing. Each kernel names itself, so that the
# gathered file is named again at its end, for the next set.
function(assay_write_gathered target name sources options)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}.cc)
  list(TRANSFORM sources REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE text)
  list(JOIN text "\n" text)
  string(APPEND text "\n")
  if(name MATCHES "^kernels")
    set(this "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${path}\"\n")
    set(text "${this}#include \"hwy/foreach_target.h\"\n#include \"hwy/highway.h\"\n${text}${this}")
  endif()
  set(before "")
  if(EXISTS ${path})
    file(READ ${path} before)
  endif()
  if(NOT before STREQUAL text)  # else it would be compiled again
    file(WRITE ${path} "${text}")
  endif()
  target_sources(${target} PRIVATE ${path})
  set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  set_source_files_properties(${path} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(options)
    set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "${options}")
  endif()
endfunction()

# assay_balance_units(): gives each unit of a layer, and of the command line, about as many files as the next one, where CMake
# would give the last one what is left.
function(assay_balance_units)
  if(NOT CMAKE_UNITY_BUILD_BATCH_SIZE MATCHES "^[1-9][0-9]*$")  # not given, or no limit
    return()
  endif()
  get_property(layers GLOBAL PROPERTY ASSAY_LAYERS)
  foreach(layer IN LISTS layers ITEMS assay_cli)
    get_target_property(sources ${layer} SOURCES)
    set(files 0)
    foreach(source IN LISTS sources)
      set(apart OFF)
      foreach(property HEADER_FILE_ONLY SKIP_UNITY_BUILD_INCLUSION COMPILE_OPTIONS)
        get_source_file_property(value ${source} TARGET_DIRECTORY ${layer} ${property})
        if(value)
          set(apart ON)
        endif()
      endforeach()
      if(NOT apart)
        math(EXPR files "${files} + 1")
      endif()
    endforeach()
    math(EXPR units "(${files} + ${CMAKE_UNITY_BUILD_BATCH_SIZE} - 1) / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    if(units GREATER 1)
      math(EXPR size "(${files} + ${units} - 1) / ${units}")
      set_target_properties(${layer} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
    endif()
  endforeach()
endfunction()

# assay_join_layer(<target> <layer> <kind> <sources> <deps>): a layer without objects, whose sources are compiled as those of
# another one. The other one may not exist yet, so that it gets them at the end.
function(assay_join_layer target layer kind sources deps)
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} INTERFACE ${deps})
  set(arguments "[[${CMAKE_CURRENT_SOURCE_DIR}]] ${layer} ${kind} [[${sources}]] [[${deps}]]")
  cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL assay_hand_over ${arguments})")
endfunction()

# Properties of a source file hold only in the folder that sets them, so a file with options of its own cannot be handed
# over.
function(assay_hand_over folder layer kind sources deps)
  get_target_property(other ${layer} ASSAY_KIND)
  if(NOT kind STREQUAL other)
    message(FATAL_ERROR "${folder} is compiled ${kind} and WITH ${layer}, which is compiled ${other}: leave WITH out")
  endif()
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} DIRECTORY ${folder} COMPILE_OPTIONS)
    file(STRINGS ${source} loops REGEX "${ASSAY_LOOPS}" LIMIT_COUNT 1)
    if(options OR loops)
      message(FATAL_ERROR "${source} is compiled with options of its own, which ${layer} would not give it: "
        "leave WITH out of ${folder}/CMakeLists.txt")
    endif()
  endforeach()
  target_sources(${layer} PRIVATE ${sources})
  # Layers among the dependencies are not linked: they may depend on ${layer}, or be ${layer}.
  foreach(library IN LISTS deps)
    set(type "")
    if(library MATCHES "^assay_")
      get_target_property(type ${library} TYPE)
    endif()
    if(NOT type MATCHES "OBJECT|INTERFACE")
      target_link_libraries(${layer} PUBLIC ${library})
    endif()
  endforeach()
endfunction()
