// SPDX-License-Identifier: Apache-2.0
// profile.json of a run that was asked for a profile, as reports show it.
#pragma once

#include <string>

#include "reports/table.h"

namespace assay {

// Rows: phases. Columns: the host's own work, and each backend: seconds of all threads, and the share of the wall
// clock. A text that is not a profile, such as "", gives no rows.
Table ProfileTable(const std::string& profile_json);

// "200 s, of which 160 s (80 %) with a backend at work and 40.0 s (20 %) without"; "" where the table has no rows.
std::string ProfileLine(const std::string& profile_json);

}  // namespace assay
