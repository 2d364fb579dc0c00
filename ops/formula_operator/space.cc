// SPDX-License-Identifier: Apache-2.0
// Dimensions of a formula operator's cases: types, fills, choices, and the extents of its axes.
#include "ops/case_space.h"
#include "ops/formula_operator/cases.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

// Vectors of 16 and blocks of 64, whole or with a rest.
void AddTails(CaseSpace& space, const std::string& key, const Extent& extent) {
  AddRelation(
      space, key + " in vectors", {key}, {"whole", "one left", "one missing", "others left"},
      [extent](const SpaceView& view) {
        const int64_t rest = extent(view) % 16;
        return rest == 0 ? 0 : rest == 1 ? 1 : rest == 15 ? 2 : 3;
      },
      kInTriples);
  AddRelation(
      space, key + " in blocks", {key}, {"less than one", "whole", "with a rest"},
      [extent](const SpaceView& view) {
        const int64_t n = extent(view);
        return n < 64 ? 0 : n % 64 == 0 ? 1 : 2;
      },
      kInTriples);
}

}  // namespace

CaseSpace FormulaOperator::Space() const {
  CaseSpace space;
  std::vector<std::string> types, axes;
  // Integers alone have lines of their own in the suites, but where an operator has no other types.
  const auto is_of_integers = [](const std::vector<DType>& row) { return std::ranges::all_of(row, IsInt); };
  const bool has_others = !std::ranges::all_of(types_, is_of_integers);
  for (const std::vector<DType>& row : types_) {
    if (!has_others || !is_of_integers(row)) types.push_back(DTypeListText(CanonicalDTypes(row, schema_).value()));
  }
  for (const AttrDef& attr : schema_.attrs) {
    if (attr.default_value.empty()) axes.push_back(attr.key);
  }
  space.Vary("dtypes", types, kInTriples);
  if (axes.empty()) return space;
  const bool many = axes.size() > 2;
  for (const std::string& key : axes) {
    const Extent extent = [key](const SpaceView& view) { return view.Int(key); };
    space.AddKnob(key, ExtentValues(many ? 130 : 8193));
    AddResidues(space, key, {key}, extent, {2, 3, 5, 8, 16, 32});
    const std::vector<int64_t> ends = many ? std::vector<int64_t>{1, 8} : std::vector<int64_t>{1, 16, 256, 4095};
    AddMagnitude(space, key, {key}, extent, ends, kInTriples);
    if (key == axes.back()) AddTails(space, key, extent);
  }
  for (const AttrDef& attr : schema_.attrs) {
    if (attr.default_value.empty()) continue;  // an axis
    space.Vary(attr.key, ValuesToTry(attr), attr.type != AttrType::kFloat);
  }
  space.Vary("fill", {"normal", "uniform", "lognormal", "outlier", "special", "edges", "near_one", "pow2"}, kInTriples);
  space.useless = [last = axes.back()](const SpaceView& view) {
    return std::string(view.Int(last) < 4 ? "lines of so few elements prove little" : "");
  };
  return space;
}

}  // namespace assay
