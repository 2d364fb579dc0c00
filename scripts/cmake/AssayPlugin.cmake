# SPDX-License-Identifier: Apache-2.0
# Makes a library a plugin. It is installed too, for plugins that are built outside of this tree.
include_guard(GLOBAL)

# assay_make_plugin(<target> <backend>): the MODULE library becomes libassay_<backend>.so, which exports its entry point
# and nothing else, not even what static libraries and templates of the standard library bring along.
function(assay_make_plugin target backend)
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin_exports.map)
  set_target_properties(${target} PROPERTIES
    PREFIX lib OUTPUT_NAME assay_${backend} LINK_DEPENDS ${exports}
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--version-script=${exports})
endfunction()
