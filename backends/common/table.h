// SPDX-License-Identifier: Apache-2.0
// The implementations of a backend as a table: adding an algorithm is adding one row.
#pragma once

#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/status.h"

namespace plugin {

// `Facts` is what a row sees of the device, whose arithmetic may decide the contract: one type, or none where all
// devices are alike. `Create` is the type of the function that makes what is executed.
template <class Create, class... Facts>
struct BasicRow {
  const char* op;
  const char* name;
  std::string (*contract)(const Facts&..., const OpDesc&);
  std::string (*why_not)(const Facts&..., const OpDesc&);  // the reason against this row; "" when it takes the op
  Create* create;
  // Its library or driver refuses a description only when it prepares a plan, so that query() prepares one.
  bool refuses_late = false;
};

// A row that makes a plan for an opened device.
template <class DeviceType, class... Facts>
using Row = BasicRow<std::unique_ptr<Plan>(DeviceType&, const OpDesc&), Facts...>;

// The tables of several operators, one after the other.
template <class RowType>
std::vector<RowType> JoinRows(std::initializer_list<std::span<const RowType>> tables) {
  std::vector<RowType> joined;
  for (const auto table : tables) joined.insert(joined.end(), table.begin(), table.end());
  return joined;
}

// The rows that take `op`, each with its contract; `why_not` and `contract` say how a row is asked. Throws Unsupported
// with every distinct reason when there are none.
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

// Overload for rows that alone decide. `rows` is not deduced, so that an array converts to it.
template <class DeviceType, class... Facts>
using Table = std::type_identity_t<std::span<const Row<DeviceType, Facts...>>>;

template <class DeviceType, class... Facts>
std::vector<Implementation> QueryTable(Table<DeviceType, Facts...> rows, const OpDesc& op, const Facts&... facts) {
  return QueryRows(
      rows, op, [&](const auto& row) { return row.why_not(facts..., op); },
      [&](const auto& row) { return row.contract(facts..., op); });
}

// Makes plans to see whether they can be made. A failure that is no refusal is told to whoever asks for that plan next:
// a driver that fails once has failed.
class TriedPlans {
 public:
  void Clear() { failures_.clear(); }
  // Why `create` refuses; "" where it does not.
  template <class Create>
  std::string Try(const std::string& name, const OpDesc& op, Create create) {
    try {
      create();
    } catch (const Error& error) {
      if (error.status() == ASSAY_UNSUPPORTED) return error.what();
      failures_[KeyOf(name, op)] = std::current_exception();
    } catch (const std::exception&) {
      failures_[KeyOf(name, op)] = std::current_exception();
    }
    return "";
  }
  void RethrowFailure(const std::string& name, const OpDesc& op) {
    const auto failure = failures_.extract(KeyOf(name, op));
    if (!failure.empty()) std::rethrow_exception(failure.mapped());
  }

 private:
  // The implementation, the operator and the operands' types and shapes: a failure is that of this question alone.
  static std::string KeyOf(const std::string& name, const OpDesc& op) {
    std::string key = name + ' ' + op.name() + ' ' + op.DTypesText();
    for (const auto* operands : {&op.inputs(), &op.outputs()}) {
      for (const Tensor& tensor : *operands) {
        key += ' ';
        for (const int64_t extent : tensor.shape) key += std::to_string(extent) + 'x';
      }
    }
    return key;
  }
  std::map<std::string, std::exception_ptr> failures_;
};

// QueryTable() of an opened device, with the rows that refuse late.
template <class DeviceType, class... Facts>
std::vector<Implementation> QueryDevice(Table<DeviceType, Facts...> rows, DeviceType& device, TriedPlans& tried,
                                        const OpDesc& op, const Facts&... facts) {
  tried.Clear();
  const auto why_not = [&](const auto& row) {
    std::string reason = row.why_not(facts..., op);
    if (!reason.empty() || !row.refuses_late) return reason;
    return tried.Try(row.name, op, [&] { row.create(device, op); });
  };
  return QueryRows(rows, op, why_not, [&](const auto& row) { return row.contract(facts..., op); });
}

template <class DeviceType, class... Facts>
std::unique_ptr<Plan> CreateFromTable(Table<DeviceType, Facts...> rows, DeviceType& device, const OpDesc& op,
                                      const std::string& name, const Facts&... facts) {
  return FindRow(rows, op, name, [&](const auto& row) { return row.why_not(facts..., op); }).create(device, op);
}

}  // namespace plugin
