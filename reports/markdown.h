// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/base/record.h"

namespace assay {

// summary.md: the console report's content as GitHub Markdown, kept under the 1 MiB limit of a step summary.
std::string MarkdownReport(const std::vector<Record>& records);

}  // namespace assay
