// SPDX-License-Identifier: Apache-2.0
// Dimensions of reduction cases. Shapes are composed of the last reduced axis (terms), the kept axes before and behind
// it, and other reduced axes: in front of all, or directly behind.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/case_space.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

// also: "front", "behind", "both" or "none".
void ComposeReduce(AttrList& attrs) {
  const std::string also = Take(attrs, "also"), outer = Take(attrs, "outer");
  const std::string terms = Take(attrs, "terms"), inner = Take(attrs, "inner");
  std::vector<std::string> shape;
  std::vector<size_t> axes;
  const auto add = [&](const std::string& extent, bool reduced) {
    if (reduced) axes.push_back(shape.size());
    shape.push_back(extent);
  };
  if (also == "front" || also == "both") add("3", true);
  if (outer != "1") add(outer, false);
  if (also == "behind" || also == "both") add("2", true);
  add(terms, true);
  if (inner != "1") add(inner, false);
  attrs.emplace_back("shape", fmt::format("{}", fmt::join(shape, "x")));
  attrs.emplace_back("axes", fmt::format("{}", fmt::join(axes, "+")));
}

struct ReduceShape {
  explicit ReduceShape(const SpaceView& view) : shape(view.attrs.List("shape")) {
    const std::vector<int64_t> axes = view.attrs.List("axes");
    reduced_axes = static_cast<int>(axes.size());
    for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
      const bool reduced = std::ranges::find(axes, axis) != axes.end();
      const int64_t extent = shape[static_cast<size_t>(axis)];
      if (reduced) last = extent, inner = 1;
      if (!reduced) inner *= extent;
      (reduced ? terms : rows) *= extent;
    }
  }
  std::vector<int64_t> shape;
  int reduced_axes = 0;
  int64_t terms = 1, rows = 1;
  int64_t last = 1, inner = 1;  // the last reduced axis, and what is kept behind it
};

const std::vector<std::string> kReduceKeys = {"also", "outer", "terms", "inner"};

void AddReduceExtents(CaseSpace& space) {
  space.AddKnob("outer", ExtentValues(65537));
  space.AddKnob("terms", ExtentValues(65537));
  space.AddKnob("inner", ExtentValues(641));
  space.AddKnob("also", {"none", "front", "behind", "both"});
  const Extent last = [](const SpaceView& view) { return ReduceShape(view).last; };
  const Extent terms = [](const SpaceView& view) { return ReduceShape(view).terms; };
  const Extent rows = [](const SpaceView& view) { return ReduceShape(view).rows; };
  const Extent inner = [](const SpaceView& view) { return ReduceShape(view).inner; };
  AddResidues(space, "last reduced axis", {"terms"}, last);
  AddMagnitude(space, "terms", {"also", "terms"}, terms, {1, 16, 256, 4096, 65535}, kInTriples);
  AddResidues(space, "kept behind", {"inner"}, inner, {2, 3, 8, 32});
  AddMagnitude(space, "kept behind", {"inner"}, inner, {1, 16}, kInTriples);
  AddResidues(space, "rows", {"outer", "inner"}, rows, {2, 3, 8, 32, 128});
  AddMagnitude(space, "rows", {"outer", "inner"}, rows, {1, 16, 256, 65535}, kInTriples);
  AddRelation(
      space, "reduced axes", {"also"}, {"1", "2", "3"},
      [](const SpaceView& view) { return std::min(ReduceShape(view).reduced_axes, 3) - 1; }, kInTriples);
  AddTensorSize(space, "x", kReduceKeys, [](const SpaceView& view) {
    const ReduceShape shape(view);
    return shape.terms * shape.rows;
  });
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

// Indices of few or equal lines are zero by chance.
std::string WhyUselessIndices(const SpaceView& view, const ReduceShape& shape) {
  const std::string& fill = view.spec.fill;
  if (view.spec.dtypes.size() == 1) return "argmax and argmin are written with their output's type";
  if (shape.last < 4 || shape.rows < 8) return "so few indices may be 0 by chance";
  if (fill == "ties" && shape.reduced_axes > 1) return "the first of equal maxima is the first term";
  if (fill == "extremes" && shape.rows < 32) return "the first of equal maxima is nearly the first term";
  return "";
}

// Maxima and minima are useless if many terms are equal to them.
std::string WhyUselessMaxima(const SpaceView& view, const ReduceShape& shape) {
  const std::string& fill = view.spec.fill;
  if (IsOneOf(fill, {"ties", "extremes"}) || (fill == "pow2" && shape.terms > 8) ||
      (fill == "ramp" && shape.terms > 64))
    return "all maxima are equal";
  if (shape.rows < 8 && shape.terms > 1024) return "so few maxima of so many terms may be equal";
  if (IsOneOf(fill, {"special", "edges", "masked"}) && shape.last < 4)
    return "an infinity of few terms hides what is left out";
  return "";
}

// Explains why omitting a term of a norm, or of a sum of exponentials, would change less than the rounding, or nothing.
std::string WhyUselessNorm(const SpaceView& view, const ReduceShape& shape, bool is_norm) {
  const std::string& fill = view.spec.fill;
  if (fill == "subnormal") return is_norm ? "squares of subnormal numbers are 0" : "their exponentials are all 1";
  if (!is_norm && shape.last < 4 && IsOneOf(fill, {"special", "edges"})) return "an infinity hides what is left out";
  if (!is_norm && shape.rows < 8 && SizeOf(view.spec.dtypes.back()) < 4) return "so few results may round to one";
  // The few largest of thousands, among infinities that add nothing, are all that there is to leave out.
  if (!is_norm && fill == "masked" && shape.terms > 256) return "one of so many exponentials is below the rounding";
  if (!is_norm) return "";
  const int64_t most = SizeOf(view.spec.dtypes.back()) < 4 ? 1024 : 65535;
  return shape.terms > most ? "one of so many squares is below the rounding" : "";
}

// Folds of integers that wrap around.
std::string WhyExcluded(const SpaceView& view) {
  const std::string kind = view.attrs.Text("kind");
  const DType x = view.spec.dtypes.front(), y = view.spec.dtypes.back();
  const bool widens = kind == "sum" && x == DType::kI8 && y == DType::kI32;
  if (!IsInt(x) || !IsOneOf(kind, {"sum", "prod"}) || widens) return "";
  return fmt::format("reduce: no {} of {} with output {} here; the suite integers has it", kind, Name(x), Name(y));
}

// Cases in which a constant, or zeros, would be right as well.
std::string WhyUselessReduction(const SpaceView& view) {
  const std::string kind = view.attrs.Text("kind"), &fill = view.spec.fill;
  const ReduceShape shape(view);
  const bool sums = IsOneOf(kind, {"sum", "mean"});
  if (fill == "cancel-1e6" && !sums) return "cancel is for sums";
  if (fill == "near_one" && IsOneOf(kind, {"max", "min", "l2", "logsumexp"})) return "the results are nearly equal";
  if (kind == "prod" && !IsOneOf(fill, {"near_one", "pow2"})) {
    return "prod needs fill=near_one or pow2; other products leave the range of their type";
  }
  if (fill == "ties" && shape.last < 4) return "fill=ties needs four terms";
  if (IsOneOf(fill, {"special", "edges"}) && shape.rows < 4) return "one special value spoils most results";
  if (IsOneOf(kind, {"argmax", "argmin"})) return WhyUselessIndices(view, shape);
  if (IsOneOf(fill, {"ramp", "ties", "extremes", "pow2", "large"}) && !sums && kind != "prod" && shape.rows < 8) {
    return "so few results of few values may be equal";
  }
  if (IsOneOf(kind, {"max", "min"})) return WhyUselessMaxima(view, shape);
  if (IsOneOf(kind, {"l2", "logsumexp"})) return WhyUselessNorm(view, shape, kind == "l2");
  return sums && shape.terms > 65535 ? "one of so many terms, or the sum itself, is within the bound" : "";
}

}  // namespace

CaseSpace ReduceSpace() {
  CaseSpace space;
  space.compose = ComposeReduce;
  space.useless = WhyUselessReduction;
  space.excluded = WhyExcluded;
  space.Vary(
      "dtypes",
      {"f32", "bf16", "f16", "f64", "f16-f32", "bf16-f32", "f32-i64", "bf16-i64", "f64-i64", "i8-i32", "i8", "i32-i64"},
      kInTriples);
  AddReduceExtents(space);
  space.Vary("kind", {"sum", "mean", "max", "min", "prod", "l2", "argmax", "argmin", "logsumexp"}, kInTriples);
  space.Vary("keepdims", {"0", "1"}, kInTriples);
  space.Vary("tie", {"first", "any"}, kInTriples);
  space.Vary("nan", {"propagate", "ignore"}, kInTriples);
  space.Vary("fill",
             {"normal", "outlier", "cancel-1e6", "ramp", "subnormal", "special", "edges", "masked", "ties", "large",
              "pow2", "near_one", "extremes"},
             kInTriples);
  return space;
}

}  // namespace assay
