# SPDX-License-Identifier: Apache-2.0
# The headers that nearly every file includes, parsed once for hot and once for cold code: GCC compiles a file that takes
# precompiled headers at their level of optimisation rather than at its own. A file with options of its own goes without.
# Only in the preset that compiles files together: elsewhere a file has to include what it uses, which its compilation
# then shows.
include_guard(GLOBAL)

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/headers.cc CONTENT "")
foreach(heat hot cold)
  add_library(assay_headers_${heat} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/headers.cc)
  target_link_libraries(assay_headers_${heat} PRIVATE fmt::fmt tl::expected assay_strict_fp assay_warnings)
  set_target_properties(assay_headers_${heat} PROPERTIES UNITY_BUILD OFF)
  target_precompile_headers(assay_headers_${heat} PRIVATE
    <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <filesystem>
    <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string>
    <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
endforeach()
target_link_libraries(assay_headers_cold PRIVATE assay_cold nlohmann_json::nlohmann_json)
target_precompile_headers(assay_headers_cold PRIVATE <fmt/ranges.h> <nlohmann/json.hpp>)

# assay_share_headers(<target> hot|cold)
function(assay_share_headers target heat)
  if(CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} REUSE_FROM assay_headers_${heat})
  endif()
endfunction()
