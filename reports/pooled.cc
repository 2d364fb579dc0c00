// SPDX-License-Identifier: Apache-2.0
#include "reports/pooled.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "reports/text.h"

namespace assay {

std::vector<std::string> PooledLines(const RecordView& records) {
  std::vector<std::string> lines;
  for (const PooledAnswer& found : FindPooled(records)) {
    const std::string device = found.device.empty() ? "" : "[" + found.device + "]";
    lines.push_back(fmt::format("Pooled: {}{}:{} {} {}: {}; it fails the run{}", found.backend, device,
                                found.implementation, found.op, found.dtype, found.Text(),
                                found.proves ? "." : " with --strict."));
  }
  return lines;
}

std::string PooledCountText(const std::vector<PooledAnswer>& found) {
  const auto proven = std::ranges::count_if(found, &PooledAnswer::proves);
  const auto advised = static_cast<int64_t>(found.size()) - proven;
  std::string text;
  if (proven > 0) text = fmt::format("{} fail{} the run", Counted(proven, "pooled finding"), proven == 1 ? "s" : "");
  if (advised > 0) {
    text += fmt::format("{}{} with --strict", text.empty() ? "" : ", ",
                        text.empty() ? Counted(advised, "pooled finding") : std::to_string(advised));
  }
  return text;
}

bool PooledFails(const std::vector<PooledAnswer>& found, bool strict) {
  return std::ranges::any_of(found, [strict](const PooledAnswer& answer) { return strict || answer.proves; });
}

}  // namespace assay
