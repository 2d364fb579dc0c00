# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=<file> -DFILTER=<filter> -DPROPERTIES=<list> -DOUTPUT=<file> -P register_suites.cmake: writes one ctest for
# each suite of a GoogleTest program that has tests of the filter. A test by itself would cost more to start than most take.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${FILTER}
  OUTPUT_VARIABLE listed TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\.[ \n]" suites "\n${listed}")
# A suite is skipped where all of its tests are. Where one of them fails, more lines follow.
set(skipped "PASSED  . 0 tests\\.\n(.  SKIPPED [^\n]*\n)+$")
set(text "")
foreach(suite IN LISTS suites)
  string(REGEX MATCH "[A-Za-z0-9_/]+" suite "${suite}")
  string(APPEND text "add_test([[${suite}]] [[${PROGRAM}]] [[--gtest_filter=${suite}.*${FILTER}]])\n"
    "set_tests_properties([[${suite}]] PROPERTIES ${PROPERTIES} SKIP_REGULAR_EXPRESSION [[${skipped}]])\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
