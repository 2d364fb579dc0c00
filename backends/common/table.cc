// SPDX-License-Identifier: Apache-2.0
#include "backends/common/table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

namespace plugin {
namespace {

std::string FeaturesText(int layouts) {
  constexpr std::pair<int, const char*> kFeatures[] = {
      {kStrides, "strides"}, {kPermuted, "permuted"}, {kInPlace, "in_place"}};
  std::string text;
  for (const auto& [layout, name] : kFeatures) {
    if ((layouts & layout) != 0) text += (text.empty() ? "" : ";") + std::string(name);
  }
  return text;
}

}  // namespace

std::vector<Capability> CapabilitiesOf(std::span<const Columns> rows, const std::function<bool(DType)>& has_type) {
  std::vector<Capability> lines;
  std::vector<int> layouts;  // of each line
  for (const Columns& row : rows) {
    for (const DType type : row.types) {
      if (!has_type(type)) continue;
      const auto is_line = [&](const Capability& line) { return line.op == row.op && line.dtype == type; };
      const auto at = static_cast<size_t>(std::ranges::find_if(lines, is_line) - lines.begin());
      if (at == lines.size()) lines.push_back({row.op, type, ""}), layouts.push_back(kDense);
      layouts[at] |= row.layouts;
      lines[at].features = FeaturesText(layouts[at]);
    }
  }
  return lines;
}

std::string TypeWhyNot(const Columns& row, const OpDesc& op) {
  if (op.inputs().empty()) return "";  // whoever reads the description says what it lacks
  const DType type = op.inputs()[0].dtype;
  if (std::ranges::find(row.types, type) != row.types.end()) return "";
  return fmt::format("{} takes {} as first operand here, not {}", op.name(),
                     fmt::join(row.types | std::views::transform(Name), ", "), Name(type));
}

void RefuseOperator(std::span<const Columns> rows, const OpDesc& op) {
  std::set<std::string> offered;
  for (const Columns& row : rows) offered.insert(row.op);
  throw Unsupported("no operator '{}' in this backend; it has: {}", op.name(), fmt::join(offered, ", "));
}

}  // namespace plugin
