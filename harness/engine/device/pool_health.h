// SPDX-License-Identifier: Apache-2.0
// Which devices of a run are worth being asked further (DeviceHealth), and who takes the cases of one that is not: the
// other devices of its pool, as long as there are any. From any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/engine/device/health.h"

namespace assay {

class PoolHealth {
 public:
  // Devices go by their index. They outlive this. `most_in_a_row`: see DeviceHealth.
  PoolHealth(const std::vector<Device>& devices, size_t most_in_a_row);

  // See DeviceHealth.
  void Note(size_t device, std::string_view op, std::string_view reason);

  // Whether a pending case of the operator is for this device: it is not set aside, or all of its pool are, so that
  // somebody has to say why the case is not run.
  bool AcceptsCases(size_t device, std::string_view op) const;

  // Why neither the device nor another of its pool runs the operator any more; "": one does.
  std::string ExplainAbsence(size_t device, std::string_view op) const;

  // Where a further try of what this device did is made: there, or on another of its pool once it is set aside; on none
  // of `without`. Nothing: nowhere.
  std::optional<size_t> FindFor(size_t device, std::string_view op, const std::set<size_t>& without = {}) const;

 private:
  std::optional<size_t> Find(size_t device, std::string_view op, const std::set<size_t>& without) const;

  const std::vector<Device>& devices_;
  const std::vector<size_t> queues_;  // of each device: those of one pool have the same
  mutable std::mutex mutex_;          // guards what follows
  std::vector<DeviceHealth> health_;
};

}  // namespace assay
