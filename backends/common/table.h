// SPDX-License-Identifier: Apache-2.0
// The implementations of a backend as a table: adding an algorithm is adding one row.
#pragma once

#include <initializer_list>
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

// The tables of several operators, one after the other.
template <class RowType>
std::vector<RowType> JoinRows(std::initializer_list<std::span<const RowType>> tables) {
  std::vector<RowType> joined;
  for (const auto table : tables) joined.insert(joined.end(), table.begin(), table.end());
  return joined;
}

// Tables may have rows of another kind, which ask the device too: `why_not` and `contract` then say how a row is asked.

// The rows that take `op`, each with its contract. Throws Unsupported with every distinct reason when there are none.
template <class RowType, class WhyNot, class ContractOf>
std::vector<Implementation> QueryRows(std::span<const RowType> rows, const OpDesc& op, WhyNot why_not,
                                      ContractOf contract) {
  std::vector<Implementation> found;
  std::string reasons, offered;
  for (const auto& row : rows) {
    if (op.name() != row.op) {
      if (offered.find(row.op) == std::string::npos) offered += (offered.empty() ? "" : ", ") + std::string(row.op);
      continue;
    }
    const std::string reason = why_not(row);
    if (reason.empty()) {
      found.push_back({row.name, contract(row)});
    } else if (reasons.find(reason) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  if (!found.empty()) return found;
  if (!reasons.empty()) throw Unsupported("{}", reasons);
  throw Unsupported("no operator '{}' in this backend; it has: {}", op.name(), offered);
}

// The row `name` of `op`. Throws Unsupported with its reason, or Failure when there is no such row.
template <class RowType, class WhyNot>
const RowType& FindRow(std::span<const RowType> rows, const OpDesc& op, const std::string& name, WhyNot why_not) {
  for (const auto& row : rows) {
    if (op.name() != row.op || name != row.name) continue;
    const std::string reason = why_not(row);
    if (!reason.empty()) throw Unsupported("{}", reason);
    return row;
  }
  throw Failure("no implementation '{}' of '{}'; take a name from query()", name, op.name());
}

template <class DeviceType>
std::vector<Implementation> QueryTable(std::span<const Row<DeviceType>> rows, const OpDesc& op) {
  return QueryRows(
      rows, op, [&](const auto& row) { return row.why_not(op); }, [&](const auto& row) { return row.contract(op); });
}

template <class DeviceType>
std::unique_ptr<Plan> CreateFromTable(std::span<const Row<DeviceType>> rows, DeviceType& device, const OpDesc& op,
                                      const std::string& name) {
  return FindRow(rows, op, name, [&](const auto& row) { return row.why_not(op); }).create(device, op);
}

}  // namespace plugin
