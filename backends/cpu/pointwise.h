// SPDX-License-Identifier: Apache-2.0
// Functions of single elements that tables name, each computed in two ways.
#pragma once

#include <vector>

#include "backends/common/host.h"
#include "backends/common/table.h"

namespace cpu {

std::vector<plugin::Row<plugin::HostDevice>> PointwiseRows();

}  // namespace cpu
