// SPDX-License-Identifier: Apache-2.0
// Which shared libraries a worker has loaded: whether what a plugin gives out for its own is another's. Read from the
// kernel's list of the process, which no code in that process can alter. What is linked in statically, or loaded and
// unloaded within one call, is not seen.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>

namespace assay {

using LibraryPaths = std::set<std::string>;

// Lists the files with executable code in a text like /proc/PID/maps.
LibraryPaths LibrariesInMaps(std::string_view maps);

// Lists the libraries of the process that this one has not loaded. Empty if the list cannot be read.
LibraryPaths LibrariesLoadedBy(pid_t pid);

// Names the known compute libraries among `loaded` whose product `library_version` does not name: "libdnnl.so.2.6
// (oneDNN), libcublas.so.12 (cuBLAS)"; "" if there are none.
std::string FindUnnamedLibraries(const LibraryPaths& loaded, std::string_view library_version);

}  // namespace assay
