// SPDX-License-Identifier: Apache-2.0
// Which files a shared library links, read from the files as the loader would, without loading any.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

// The libraries that `library` needs, directly or through each other, and that are found where it says (DT_RPATH,
// DT_RUNPATH with $ORIGIN, a path) or in `searched`, which is what LD_LIBRARY_PATH names. Those in the system's folders
// are left out, and so is every file that is no 64-bit shared library: a name alone grants nothing.
std::vector<std::filesystem::path> LinkedLibraries(const std::filesystem::path& library,
                                                   const std::vector<std::filesystem::path>& searched);

}  // namespace assay
