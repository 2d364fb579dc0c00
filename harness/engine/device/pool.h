// SPDX-License-Identifier: Apache-2.0
// Devices of one backend that share their cases (--devices pool). A pool stands in the plan as one device, of the name
// that its devices have in common: each case is run once, on whichever of them is free, and the record names that one
// beside the pool. What is missing, resumed, merged or compared is looked up by the name of the pool, so that a case
// may be run on another device of it the next time; what was measured on a device stays with that device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

// Makes one pool (Device::pool) of the devices of each backend that has several. Errors: those of a backend differ in
// something that a result may depend on; each such fact is named.
Status PoolDevices(std::vector<Device>& devices);

// Which queue of cases each device serves, counted from 0: that of its pool, or its own.
std::vector<size_t> QueueOfEach(const std::vector<Device>& devices);

}  // namespace assay
