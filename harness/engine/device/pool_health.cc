// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/pool_health.h"

#include <fmt/format.h>

#include "harness/engine/device/pool.h"

namespace assay {

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
