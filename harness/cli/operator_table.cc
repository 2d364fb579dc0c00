// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/cli/verbs.h"
#include "harness/engine/device/device.h"
#include "harness/engine/device/device_selection.h"

namespace assay::cli {
namespace {

struct DeviceColumn {
  std::string title;
  std::map<std::string, std::vector<std::string>> types;  // by operator, as the device names them
  size_t operators = 0;                                   // of the table's
};

DeviceColumn ColumnOf(const Device& device) {
  DeviceColumn column{device.selector, {}};
  const auto stated = device.session->Capabilities(device.device_index);
  if (!stated) {
    Note(fmt::format("{} states no capabilities: its column is empty", device.selector));
    return column;
  }
  for (const CapabilityLine& line : *stated) {
    std::vector<std::string>& types = column.types[line.op];
    if (std::ranges::find(types, line.type) == types.end()) types.push_back(line.type);
  }
  return column;
}

// The types in the operator's order, "all" where none is missing, "-" where there is none. "any" is what a column of a
// framework states: it tries each.
std::string CellOf(const OperatorLine& line, const DeviceColumn& column) {
  const auto found = column.types.find(line.op);
  if (found == column.types.end()) return "-";
  const auto& stated = found->second;
  if (std::ranges::find(stated, "any") != stated.end()) return "any";
  std::vector<std::string> taken;
  std::ranges::copy_if(line.types, std::back_inserter(taken),
                       [&](const std::string& type) { return std::ranges::find(stated, type) != stated.end(); });
  if (taken.empty()) return "-";
  return taken == line.types ? "all" : fmt::format("{}", fmt::join(taken, " "));
}

}  // namespace

int PrintOperatorTable(const std::vector<OperatorLine>& lines, const BackendOptions& backends) {
  std::vector<std::string> absent;
  auto devices = OpenDevices(backends, absent);
  if (!devices) return Complain(kExitUsage, devices.error().message);
  std::vector<DeviceColumn> columns;
  for (const Device& device : *devices) {
    if (device.problem.empty()) columns.push_back(ColumnOf(device));
  }
  if (columns.empty()) return Complain(kExitNothing, "no backend is usable: assay backends says why");
  std::string head = "| operator | types |", rule = "|---|---|",
              foot = fmt::format("| {} {} | |", lines.size(), lines.size() == 1 ? "operator" : "operators");
  std::string body;
  for (const OperatorLine& line : lines) {
    body += fmt::format("| {} | {} |", line.op, fmt::join(line.types, " "));
    for (DeviceColumn& column : columns) {
      const std::string cell = CellOf(line, column);
      column.operators += cell == "-" ? 0 : 1;
      body += fmt::format(" {} |", cell);
    }
    body += "\n";
  }
  for (const DeviceColumn& column : columns) {
    head += fmt::format(" {} |", column.title), rule += "---|", foot += fmt::format(" {} |", column.operators);
  }
  fmt::print("{}\n{}\n{}{}\n", head, rule, body, foot);
  return kExitOk;
}

}  // namespace assay::cli
