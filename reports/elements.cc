// SPDX-License-Identifier: Apache-2.0
#include "reports/elements.h"

#include <algorithm>
#include <string_view>

#include "harness/core/base/text.h"

namespace assay {
namespace {

using Row = std::array<std::string, 4>;

// The first parts of "a:b:c:d"; what is absent is empty.
Row RowOf(std::string_view entry) {
  Row row;
  const std::vector<std::string_view> parts = Split(entry, ':');
  for (size_t i = 0; i < std::min(parts.size(), row.size()); ++i) row[i] = parts[i];
  return row;
}

}  // namespace

WrongElements WrongElementsOf(const Record& r) {
  if (!r.twin_elements.empty()) {
    WrongElements wrong{{"element of the exact twin", "got", "expected", "permitted difference"}, {}};
    for (const std::string_view entry : Split(r.twin_elements, ';')) wrong.rows.push_back(RowOf(entry));
    return wrong;
  }
  WrongElements wrong{{"element", "got", "golden", "tolerance"}, {}};
  if (r.worst_elements.empty()) return wrong;
  for (const std::string_view entry : Split(r.worst_elements, ';')) wrong.rows.push_back(RowOf(entry));
  // The worst come first: those outside their bounds, then those that merely come nearest to them.
  if (r.violations) {
    const auto outside = static_cast<size_t>(std::max<int64_t>(0, *r.violations + r.nonfinite_mismatch.value_or(0)));
    wrong.rows.resize(std::min(wrong.rows.size(), outside));
  }
  const std::vector<std::string_view> places = Split(r.worst_errors, ';');
  for (size_t i = 0; i < std::min(wrong.rows.size(), places.size()); ++i) {
    if (!places[i].empty()) wrong.rows[i][0] = RowOf(places[i])[0];
  }
  return wrong;
}

}  // namespace assay
