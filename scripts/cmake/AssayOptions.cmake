# SPDX-License-Identifier: Apache-2.0
# Backend options are AUTO (build when its SDK is found), ON (absent is an error) or OFF. Each backend folder calls
# assay_backend_status() once; the table at the end of configuration says what is built and, if not, why.
include_guard(GLOBAL)

option(ASSAY_BUILD_TESTS "Build tests and benchmarks" ON)
option(ASSAY_BUNDLE_LIBRARIES "Install the shared libraries that are not the system's own beside the plugins" OFF)

foreach(backend ONEDNN VULKAN CUDA HIP OPENCL)
  set(ASSAY_${backend} AUTO CACHE STRING "Build the ${backend} backend: AUTO, ON or OFF")
  set_property(CACHE ASSAY_${backend} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ASSAY_${backend} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "ASSAY_${backend}=${ASSAY_${backend}} is not one of AUTO, ON, OFF. Pass e.g. -DASSAY_${backend}=AUTO.")
  endif()
endforeach()

# assay_backend_status(NAME <OPTION> BUILT <bool> REASON <text>): records the outcome for the table and enforces ON. A
# reason why it is not built says what to install: `assay backends` prints it.
function(assay_backend_status)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;BUILT;REASON" "")  # PARSE_ARGV: a reason may hold a ';'
  if("${ASSAY_${arg_NAME}}" STREQUAL "ON" AND NOT arg_BUILT)
    message(FATAL_ERROR "ASSAY_${arg_NAME}=ON but it cannot be built: ${arg_REASON}")
  endif()
  set_property(GLOBAL APPEND PROPERTY ASSAY_BACKENDS ${arg_NAME})
  set_property(GLOBAL PROPERTY ASSAY_BUILT_${arg_NAME} ${arg_BUILT})
  set_property(GLOBAL PROPERTY ASSAY_REASON_${arg_NAME} "${arg_REASON}")
endfunction()

# Prints the table, and writes it as initialisers for harness/engine/device/device_selection.cc.
function(assay_print_configure_table)
  get_property(backends GLOBAL PROPERTY ASSAY_BACKENDS)
  # A backend without a folder in this version still gets its line, so that nothing is silently absent.
  foreach(backend ONEDNN VULKAN CUDA HIP OPENCL)
    if(NOT backend IN_LIST backends)
      assay_backend_status(NAME ${backend} BUILT FALSE REASON "this version has no such backend")
      list(APPEND backends ${backend})
    endif()
  endforeach()
  set(initialisers "")
  message(STATUS "assay backends:")
  foreach(backend IN LISTS backends)
    get_property(built GLOBAL PROPERTY ASSAY_BUILT_${backend})
    get_property(reason GLOBAL PROPERTY ASSAY_REASON_${backend})
    set(option "${ASSAY_${backend}}")
    if(option STREQUAL "")
      set(option "-")
    endif()
    if(built)
      set(yes_no "yes ")
      set(built true)
    else()
      set(yes_no "no  ")
      set(built false)
    endif()
    string(SUBSTRING "${backend}          " 0 8 name_column)
    string(SUBSTRING "${option}     " 0 5 option_column)
    message(STATUS "  ${name_column} ${option_column} ${yes_no} ${reason}")
    string(TOLOWER ${backend} name)
    string(REPLACE "\\" "\\\\" reason "${reason}")
    string(REPLACE "\"" "\\\"" reason "${reason}")
    string(APPEND initialisers "{\"${name}\", \"${option}\", ${built}, \"${reason}\"},\n")
  endforeach()
  file(GENERATE OUTPUT ${ASSAY_GENERATED}/configured_backends.inc CONTENT "${initialisers}")
endfunction()
