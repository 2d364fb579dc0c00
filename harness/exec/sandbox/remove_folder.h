// SPDX-License-Identifier: Apache-2.0
// Removes what a stranger's program has left in a folder, however deep its folders lie in each other and whatever it
// forbade their owner.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

// Removes the folder with all that is in it, and follows no link. Returns "" or why something is left. Precondition:
// whoever wrote there has ended.
[[nodiscard]] std::string RemoveFolder(const std::filesystem::path& folder);

}  // namespace assay
