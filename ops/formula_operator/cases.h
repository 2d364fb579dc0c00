// SPDX-License-Identifier: Apache-2.0
// Cases of an operator that is a formula, made from its schema alone: what is tested and measured of operators that no
// list names. A seed draws extents, choices, fills and seeds of data; what the operator refuses is drawn again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/data/fill/rng.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {

// Every one that is registered, by name.
std::vector<const FormulaOperator*> AllFormulas();

// The values of an attribute with a default that are worth trying: all choices, both of a flag, of numbers the default
// and another one.
std::vector<std::string> ValuesToTry(const AttrDef& def);

// Numbers and terms that all outputs of a formula take.
double WorkOf(const formula::Graph& graph);

struct DrawLimits {
  int64_t long_least = 5, long_most = 16;  // extent of one axis
  int64_t others_least = 1, others_most = 6;
  double most_work = 1500;
  std::vector<std::string> fills = {"normal"};
};

// A value that no case has, and what the operator said last.
struct RefusedValue {
  std::string key, value, why;
};

struct DrawnSizes {
  std::vector<Problem> cases;
  std::vector<RefusedValue> refused;
};

class SizeDrawer {
 public:
  // `op` outlives this.
  SizeDrawer(const FormulaOperator& op, DrawLimits limits, uint64_t seed);

  // Axes are attributes without a default, counted in the order of the schema.
  size_t axes() const { return axes_; }
  // A case with these values, of attributes and of `dtypes` and `fill`; the others are drawn. `long_axis` is long where
  // the operator permits that. An error says what it refused last, of so many draws that there is hardly another one.
  Result<Problem> Draw(const AttrList& given, size_t long_axis);

  // Few cases in which each of these lists of types occurs, each fill, and each value of ValuesToTry, and each axis is
  // long in turn; at least `least` of them.
  DrawnSizes DrawFew(const std::vector<std::vector<DType>>& types, size_t least);

 private:
  struct Knob {
    std::string key;
    std::vector<std::string> values;  // of an axis none
  };
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_.Below(drawn_++, static_cast<uint64_t>(bound))); }
  int64_t Extent(bool is_long, bool any);
  CaseSpec Write(const AttrList& given, size_t long_axis, bool any_extents);

  const FormulaOperator* op_;
  const DrawLimits limits_;
  const RandomStream random_;
  uint64_t drawn_ = 0;
  size_t axes_ = 0;
  std::vector<Knob> knobs_;  // dtypes, fill and the attributes of the schema
};

}  // namespace assay
