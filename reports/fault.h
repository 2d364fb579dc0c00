// SPDX-License-Identifier: Apache-2.0
// Names the cause of a failure in one line: assay itself, a library or driver on this machine, or a backend's own
// kernels.
#pragma once

#include <string>

#include "harness/core/model/record_list.h"
#include "reports/environment.h"

namespace assay {

// "" when nothing ran. `environment` is that of the run, for what strict ones fail by.
std::string FaultLine(const RecordView& records, const EnvironmentRows& environment = {});

}  // namespace assay
