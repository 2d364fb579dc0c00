# SPDX-License-Identifier: Apache-2.0
# Shared by the plugins of backends/cuda and backends/hip: the sources of backends/gpu, compiled for one vendor.
include_guard(GLOBAL)

# assay_gpu_objects(<variable> NAME <name> COMMENT <word> COMMAND <compiler and flags>... SOURCES <files>...): device code
# to object files, by a compiler that CMake does not know as a language: it takes -c, -o, -MD and -MF.
function(assay_gpu_objects variable)
  cmake_parse_arguments(arg "" "NAME;COMMENT" "COMMAND;SOURCES" ${ARGN})
  set(objects "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(word ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_${word}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${arg_COMMAND} -I${PROJECT_SOURCE_DIR} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "${arg_COMMENT} ${arg_NAME} ${word}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# assay_gpu_kernels(<variable>): the files of kernels/, whatever compiles them.
function(assay_gpu_kernels variable)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels/*.cc)
  set(${variable} ${kernels} PARENT_SCOPE)
endfunction()

# assay_add_gpu_plugin(NAME <name> VENDOR <definition> [APART] SOURCES <files>... [OBJECTS <files>...]
# [LIBRARIES ...]): SOURCES are the vendor's own, OBJECTS what assay_gpu_objects makes.
function(assay_add_gpu_plugin)
  cmake_parse_arguments(arg "APART" "NAME;VENDOR" "SOURCES;OBJECTS;LIBRARIES" ${ARGN})
  file(GLOB host CONFIGURE_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/*.cc)
  set(apart "")
  if(arg_APART)
    set(apart APART)
  endif()
  assay_add_plugin(NAME ${arg_NAME} ${apart} SOURCES ${host} ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  target_sources(assay_backend_${arg_NAME} PRIVATE ${arg_OBJECTS})
  target_compile_definitions(assay_backend_${arg_NAME} PRIVATE ${arg_VENDOR})
endfunction()
