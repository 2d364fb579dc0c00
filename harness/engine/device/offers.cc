// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/offers.h"

#include <fmt/format.h>

namespace assay {

Offers::Answer Offers::Find(const Device& device, const Problem& problem, const LayoutVariant& layout) {
  // Plugins of one name are told apart by their paths.
  const std::string key = fmt::format("{} {} {} {} {} {} {}", device.path, device.selector, device.device_index,
                                      problem.spec.Id(), layout.element_offset, layout.row_padding, layout.permuted);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  Answer answer = device.session->Query(device.device_index, problem, layout);
  if (!answer && answer.error().kind != FailureKind::kUnsupported) return answer;
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(answer)).first->second;
}

}  // namespace assay
