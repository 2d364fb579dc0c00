// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/health.h"

#include <fmt/format.h>

#include "harness/core/base/amounts.h"
#include "harness/engine/device/pool.h"

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

PoolHealth::PoolHealth(const std::vector<Device>& devices, size_t most_in_a_row)
    : devices_(devices), queues_(QueueOfEach(devices)), health_(devices.size(), DeviceHealth(most_in_a_row)) {}

void PoolHealth::Note(size_t device, std::string_view op, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  health_[device].Note(op, reason);
}

bool PoolHealth::AcceptsCases(size_t device, std::string_view op) const {
  const std::lock_guard lock(mutex_);
  return health_[device].ExplainSetAside(op).empty() || !Find(device, op, {});
}

std::string PoolHealth::ExplainAbsence(size_t device, std::string_view op) const {
  const std::lock_guard lock(mutex_);
  if (devices_[device].pool.empty()) return health_[device].ExplainSetAside(op);
  std::string text;
  for (size_t other = 0; other < devices_.size(); ++other) {
    if (queues_[other] != queues_[device]) continue;
    const std::string why = health_[other].ExplainSetAside(op);
    if (why.empty()) return "";
    text += fmt::format("; {}: {}", devices_[other].device.name, why);
  }
  return "no device of the pool is left" + text;
}

std::optional<size_t> PoolHealth::FindFor(size_t device, std::string_view op, const std::set<size_t>& without) const {
  const std::lock_guard lock(mutex_);
  return Find(device, op, without);
}

std::optional<size_t> PoolHealth::Find(size_t device, std::string_view op, const std::set<size_t>& without) const {
  const auto runs = [&](size_t one) { return !without.contains(one) && health_[one].ExplainSetAside(op).empty(); };
  if (runs(device)) return device;
  for (size_t other = 0; other < devices_.size(); ++other) {
    if (queues_[other] == queues_[device] && runs(other)) return other;
  }
  return std::nullopt;
}

}  // namespace assay
