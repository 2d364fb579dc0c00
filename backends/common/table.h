// SPDX-License-Identifier: Apache-2.0
// The implementations of a backend as a table: adding an algorithm is adding one row. What a backend offers, what it
// lacks and the capabilities that it tells follow from its rows.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/status.h"
#include "backends/common/tried_plans.h"

namespace plugin {

using Types = std::span<const DType>;
inline constexpr DType kRealTypes[] = {kF32, kF64, kF16, kBF16};
inline constexpr DType kRealTypesAndI8[] = {kF32, kF64, kF16, kBF16, kI8};
inline constexpr DType kRealTypesAndIntegers[] = {kF32, kF64, kF16, kBF16, kI8, kU8, kI16, kI32, kI64, kBool8};
inline constexpr DType kNarrowTypes[] = {kF32, kF16, kBF16};
inline constexpr DType kHalfTypes[] = {kF16, kBF16};
inline constexpr DType kFftTypes[] = {kF32, kF64, kC64, kC128};

// Layouts that a row takes beside dense tensors, as assay_capability names them.
enum Layouts : uint8_t { kDense = 0, kStrides = 1, kPermuted = 2, kInPlace = 4, kAnyLayout = kStrides | kPermuted };

// The columns that the rows of every backend have. Arithmetic is a column too, a function of what the backend knows
// (the device, the library's choice), and how a plan is made is the backend's own.
struct Columns {
  const char* op;
  Types types;       // that the first operand, input 0, may have; others are refused. The device may lack some
  const char* name;  // of the implementation; "" where a library names those that it has
  int layouts = kAnyLayout;
};

// A line for each operator of the rows and each type of its first operand that `has_type` leaves, with the layouts of
// all rows that take it.
std::vector<Capability> CapabilitiesOf(std::span<const Columns> rows, const std::function<bool(DType)>& has_type);
template <class RowType>
std::vector<Capability> CapabilitiesOf(
    std::span<const RowType> rows, const std::function<bool(DType)>& has_type = [](DType) { return true; }) {
  return CapabilitiesOf(std::span<const Columns>(std::vector<Columns>(rows.begin(), rows.end())), has_type);
}

// Refuses an operator that no row has, and names those that there are.
[[noreturn]] void RefuseOperator(std::span<const Columns> rows, const OpDesc& op);
template <class RowType>
[[noreturn]] void RefuseOperator(std::span<const RowType> rows, const OpDesc& op) {
  RefuseOperator(std::span<const Columns>(std::vector<Columns>(rows.begin(), rows.end())), op);
}

// A row with one implementation. `Facts` is what a row sees of the device, whose arithmetic may decide the contract:
// one type, or none where all devices are alike. `Create` is the type of the function that makes what is executed.
template <class Create, class... Facts>
struct BasicRow : Columns {
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

// Why the row does not take the type of the first operand; "" when it does. Which other operands go with it is for
// `why_not` to say.
std::string TypeWhyNot(const Columns& row, const OpDesc& op);

// The rows that take `op`, each with its contract; `why_not` and `contract` say how a row is asked. Throws Unsupported
// with every distinct reason when there are none.
template <class RowType, class WhyNot, class ContractOf>
std::vector<Implementation> QueryRows(std::span<const RowType> rows, const OpDesc& op, WhyNot why_not,
                                      ContractOf contract) {
  std::vector<Implementation> found;
  std::string reasons;
  for (const auto& row : rows) {
    if (op.name() != row.op) continue;
    std::string reason = why_not(row);
    if (reason.empty()) reason = TypeWhyNot(row, op);
    if (reason.empty()) {
      found.push_back({row.name, contract(row)});
    } else if (reasons.find(reason) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  if (!found.empty()) return found;
  if (!reasons.empty()) throw Unsupported("{}", reasons);
  RefuseOperator(rows, op);
}

// The row `name` of `op`. Throws Unsupported with its reason, or Failure when there is no such row.
template <class RowType, class WhyNot>
const RowType& FindRow(std::span<const RowType> rows, const OpDesc& op, const std::string& name, WhyNot why_not) {
  for (const auto& row : rows) {
    if (op.name() != row.op || name != row.name) continue;
    std::string reason = why_not(row);
    if (reason.empty()) reason = TypeWhyNot(row, op);
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

// QueryTable() of an opened device, with the rows that refuse late.
template <class DeviceType, class... Facts>
std::vector<Implementation> QueryDevice(Table<DeviceType, Facts...> rows, DeviceType& device, TriedPlans& tried,
                                        const OpDesc& op, const Facts&... facts) {
  tried.Clear();
  const auto why_not = [&](const auto& row) {
    std::string reason = row.why_not(facts..., op);
    if (reason.empty()) reason = TypeWhyNot(row, op);  // before a plan is tried
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
