// SPDX-License-Identifier: Apache-2.0
// Compiled pipelines kept on disk, one file per device and driver: $XDG_CACHE_HOME/assay/vulkan, else
// ~/.cache/assay/vulkan. A file that is absent, damaged or of another driver is the same as none; one that cannot be
// written is done without.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/vulkan/context.h"

namespace vulkan {

// "" when there is no cache folder.
std::string PipelineFile(const Facts& facts);
std::vector<std::byte> LoadPipelineData(const Facts& facts);
void StorePipelineData(Context& context, VkPipelineCache cache);

}  // namespace vulkan
