// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/health.h"

#include <fmt/format.h>

#include "harness/core/base/amounts.h"

namespace assay {
namespace {

std::string Explain(std::string_view what, size_t results, std::string_view last) {
  return fmt::format("{} was set aside after {} in a row that ended its worker (--set-aside-after); the last: {}", what,
                     Counted(static_cast<int64_t>(results), "result"), last);
}

}  // namespace

void DeviceHealth::Note(std::string_view op, std::string_view reason) {
  if (reason.empty()) {
    in_a_row_ = of_operator_ = 0;
    return;
  }
  ++in_a_row_;
  of_operator_ = op == operator_ ? of_operator_ + 1 : 1;
  operator_ = op;
  if (most_in_a_row_ == 0) return;
  if (of_operator_ >= most_in_a_row_) {
    operators_.try_emplace(operator_, Explain(fmt::format("{} on this device", op), of_operator_, reason));
  }
  // More than one operator alone can have brought about, however many that has cases of.
  if (in_a_row_ >= 2 * most_in_a_row_ && in_a_row_ > of_operator_ && whole_.empty()) {
    whole_ = Explain("the device", in_a_row_, reason);
  }
}

std::string DeviceHealth::ExplainSetAside(std::string_view op) const {
  if (!whole_.empty()) return whole_;
  const auto found = operators_.find(op);
  return found == operators_.end() ? "" : found->second;
}

}  // namespace assay
