// SPDX-License-Identifier: Apache-2.0
// Whether a device is worth being asked further. One that has died would take the whole timeout of every case: after a
// number of results in a row that ended with its worker it is set aside, for the operator that they are of at first,
// whose kernels may alone be broken, and as a whole when other operators fare no better.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

class DeviceHealth {
 public:
  // `most_in_a_row` of 0: never set aside.
  explicit DeviceHealth(size_t most_in_a_row) : most_in_a_row_(most_in_a_row) {}

  // A result of an operator: `reason` is how the worker or the device ended in it, "" where neither did.
  void Note(std::string_view op, std::string_view reason);

  // Why the operator is not run on the device any more; "": it is.
  std::string ExplainSetAside(std::string_view op) const;

 private:
  size_t most_in_a_row_;
  size_t in_a_row_ = 0;                                        // of any operator
  size_t of_operator_ = 0;                                     // of these, the latest ones, of one operator
  std::string operator_;                                       // that one
  std::string whole_;                                          // why the device as a whole is set aside
  std::map<std::string, std::string, std::less<>> operators_;  // why each of these is
};

// Devices of a run, from any thread. The other devices of a pool take the cases of one that is set aside, as long as
// there are any.
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
