// SPDX-License-Identifier: Apache-2.0
// Names of backends that a user gives: what there is of them, what may have been meant, and that each means one plugin.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

// "; did you mean 'onednn'?" of a name that no plugin and no backend of this build has; "" where nothing is near.
std::string SuggestBackend(const std::vector<Device>& devices, const std::string& wanted);

// Two plugins of one name would be one column of the report, and --backend could not tell them apart.
Status CheckOnePluginEach(const std::vector<Device>& devices);

}  // namespace assay
