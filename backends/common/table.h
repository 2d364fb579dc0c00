// SPDX-License-Identifier: Apache-2.0
// The implementations of a backend as a table: adding an algorithm is adding one row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/status.h"

namespace plugin {

template <class DeviceType>
struct Row {
  const char* op;
  const char* name;
  std::string (*contract)(const OpDesc&);
  std::string (*why_not)(const OpDesc&);  // the reason why this row does not take the description; "" when it does
  std::unique_ptr<Plan> (*create)(DeviceType&, const OpDesc&);
};

// The rows that take `op`. Throws Unsupported with every distinct reason when there are none.
template <class DeviceType>
std::vector<Implementation> QueryTable(std::span<const Row<DeviceType>> rows, const OpDesc& op) {
  std::vector<Implementation> found;
  std::string reasons, offered;
  for (const auto& row : rows) {
    if (op.name() != row.op) {
      if (offered.find(row.op) == std::string::npos) offered += (offered.empty() ? "" : ", ") + std::string(row.op);
      continue;
    }
    const std::string reason = row.why_not(op);
    if (reason.empty()) {
      found.push_back({row.name, row.contract(op)});
    } else if (reasons.find(reason) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  if (!found.empty()) return found;
  if (!reasons.empty()) throw Unsupported("{}", reasons);
  throw Unsupported("no operator '{}' in this backend; it has: {}", op.name(), offered);
}

// The plan of the row `name`. Throws Unsupported with its reason, or Failure when there is no such row.
template <class DeviceType>
std::unique_ptr<Plan> CreateFromTable(std::span<const Row<DeviceType>> rows, DeviceType& device, const OpDesc& op,
                                      const std::string& name) {
  for (const auto& row : rows) {
    if (op.name() != row.op || name != row.name) continue;
    const std::string reason = row.why_not(op);
    if (!reason.empty()) throw Unsupported("{}", reason);
    return row.create(device, op);
  }
  throw Failure("no implementation '{}' of '{}'; take a name from query()", name, op.name());
}

}  // namespace plugin
