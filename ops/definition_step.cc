// SPDX-License-Identifier: Apache-2.0
#include "ops/definition_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>

#include "harness/core/base/text.h"
#include "harness/core/data/dtype.h"
#include "ops/formula/formula_error.h"

namespace assay::formula {
namespace {

constexpr size_t kMostShown = 40, kMostParts = 16;
constexpr int64_t kMostOffset = int64_t{1} << 40, kMostStride = 1 << 16;  // their sums and products stay integers
constexpr int64_t kMostPlaces = 1 << 24;

struct Operands {
  std::vector<Expr> values;
  Axes axes;
  const Step& step;
  int64_t start = 0;
  Axes to;
  Graph* graph = nullptr;
  std::vector<int64_t> places;
};

// A function of so many values along so many axes; -1: any number of axes, at least one.
struct Maker {
  size_t values;
  int axes;
  std::function<Expr(const Operands&)> make;
};

Maker Unary(Expr (*function)(Expr)) {
  return {1, 0, [function](const Operands& o) { return function(o.values[0]); }};
}
Maker Binary(Expr (*function)(Expr, Expr)) {
  return {2, 0, [function](const Operands& o) { return function(o.values[0], o.values[1]); }};
}
Maker Reducing(Expr (*function)(Expr, const Axes&)) {
  return {1, -1, [function](const Operands& o) { return function(o.values[0], o.axes); }};
}

Expr RoundTo(const Operands& o) {
  const auto type = ParseDType(o.step.type);
  Require(type && IsFloat(*type), "type is '{}'; name a floating-point type, as bf16", o.step.type);
  return Round(o.values[0], *type);
}

// The value along axes[0] at start + stride i for each i of axes[1]; beyond its ends zeros.
Expr TakeAt(const Operands& o) {
  const int64_t extent = o.axes.list[0].extent, start = o.start, stride = o.step.stride;
  return At(o.values[0], o.axes.list[0], o.axes.list[1], [=](int64_t i) {
    const int64_t place = start + stride * i;
    return place < 0 || place >= extent ? -1 : place;
  });
}

// The largest or smallest numbers along axes[0], in order along to[0], or their places.
Maker Selecting(bool smallest, bool places) {
  return {1, 1, [=](const Operands& o) {
            Require(o.to.list.size() == 1, "{} has {} axes in 'to'; give one, for what is selected", o.step.function,
                    o.to.list.size());
            const bool any_tie = o.step.ties == "any";
            Require(any_tie || o.step.ties.empty() || o.step.ties == "first", "ties is '{}'; give first or any",
                    o.step.ties);
            const Selection found =
                TopK(o.values[0], o.axes.list[0], o.to.list[0], {.smallest = smallest, .any_tie = any_tie});
            return places ? found.places : found.values;
          }};
}

// The value along axes[0] at the places of windows, which have the other axes.
Expr TakeWindows(const Operands& o) {
  Axes to = o.axes;
  to.list.erase(to.list.begin());
  return Take(o.values[0], o.axes.list[0], to, o.places);
}

using Makers = std::map<std::string, Maker, std::less<>>;

const Makers& AllMakers() {
  static const Makers makers = {
      {"add", Binary([](Expr x, Expr y) { return x + y; })},
      {"subtract", Binary([](Expr x, Expr y) { return x - y; })},
      {"multiply", Binary([](Expr x, Expr y) { return x * y; })},
      {"divide", Binary([](Expr x, Expr y) { return x / y; })},
      {"negative", Unary([](Expr x) { return -x; })},
      {"maximum", Binary(Maximum)},
      {"minimum", Binary(Minimum)},
      {"pow", Binary(Pow)},
      {"less", Binary(Less)},
      {"less_equal", Binary(LessEqual)},
      {"equal", Binary(Equal)},
      {"not_equal", Binary(NotEqual)},
      {"logical_and", Binary(And)},
      {"logical_or", Binary(Or)},
      {"logical_not", Unary(Not)},
      {"where", {3, 0, [](const Operands& o) { return Select(o.values[0], o.values[1], o.values[2]); }}},
      {"exp", Unary(Exp)},
      {"log", Unary(Log)},
      {"log1p", Unary(Log1p)},
      {"tanh", Unary(Tanh)},
      {"erf", Unary(Erf)},
      {"one_minus_tanh", Unary(OneMinusTanh)},
      {"one_minus_erf", Unary(OneMinusErf)},
      {"sin", Unary(Sin)},
      {"cos", Unary(Cos)},
      {"exp2", Unary(Exp2)},
      {"expm1", Unary(Expm1)},
      {"log2", Unary(Log2)},
      {"log10", Unary(Log10)},
      {"erfc", Unary(Erfc)},
      {"tan", Unary(Tan)},
      {"asin", Unary(Asin)},
      {"acos", Unary(Acos)},
      {"atan", Unary(Atan)},
      {"sinh", Unary(Sinh)},
      {"cosh", Unary(Cosh)},
      {"asinh", Unary(Asinh)},
      {"acosh", Unary(Acosh)},
      {"atanh", Unary(Atanh)},
      {"cbrt", Unary(Cbrt)},
      {"sigmoid", Unary(Sigmoid)},
      {"sqrt", Unary(Sqrt)},
      {"rsqrt", Unary(Rsqrt)},
      {"abs", Unary(Abs)},
      {"relu", Unary(Max0)},
      {"floor_divide", Binary(FloorDivide)},
      {"nearest", Unary(Nearest)},
      {"strict", Unary(Strict)},
      {"recomputed", Unary(Recomputed)},
      {"sum", Reducing(Sum)},
      {"rescaled_sum", Reducing(RescaledSum)},
      {"mean", Reducing(Mean)},
      {"updated_mean", Reducing(UpdatedMean)},
      {"prod", Reducing(Prod)},
      {"max", Reducing(Max)},
      {"min", Reducing(Min)},
      {"max_or_lowest", Reducing(MaxOrLowest)},
      {"below_max", Reducing(BelowMax)},
      {"contraction", {2, -1, [](const Operands& o) { return Contraction(o.values[0], o.values[1], o.axes); }}},
      {"cumsum", {1, 1, [](const Operands& o) { return CumSum(o.values[0], o.axes.list[0]); }}},
      {"recur", {2, 1, [](const Operands& o) { return Recur(o.values[0], o.values[1], o.axes.list[0]); }}},
      {"round", {1, 0, RoundTo}},
      {"at", {1, 2, TakeAt}},
      {"windows", {1, -1, TakeWindows}},
      {"reshape", {1, -1, [](const Operands& o) { return Reshape(o.values[0], o.axes, o.to); }}},
      {"take", {1, -1, [](const Operands& o) { return Take(o.values[0], o.axes, o.to, o.step.places); }}},
      {"largest", Selecting(false, false)},
      {"smallest", Selecting(true, false)},
      {"places_of_largest", Selecting(false, true)},
      {"places_of_smallest", Selecting(true, true)},
      {"gather", {2, 1, [](const Operands& o) { return Gather(o.values[0], o.axes.list[0], o.values[1]); }}},
      {"scatter_add",
       {3, 1, [](const Operands& o) { return ScatterAdd(o.values[0], o.values[1], o.values[2], o.axes.list[0]); }}},
      {"index", {0, 1, [](const Operands& o) { return Index(*o.graph, o.axes.list[0]); }}},
      {"extent", {0, 1, [](const Operands& o) { return Const(*o.graph, static_cast<double>(o.axes.list[0].extent)); }}},
  };
  return makers;
}

}  // namespace

Axes NamedParts::AxesOf(const std::vector<std::string>& names, bool once) const {
  Axes found;
  for (const std::string& name : names) {
    const auto axis = axes.find(name);
    Require(axis != axes.end(), "no axis '{}'; state it among the axes", name);
    Require(!once || std::ranges::count(names, name) == 1, "axis '{}' stands twice; name it once", name);
    found.list.push_back(axis->second);
  }
  return found;
}

Expr NamedParts::ValueOf(const std::string& name) const {
  if (const auto value = values.find(name); value != values.end()) return value->second;
  Require(graph != nullptr, "has no input; state at least one");
  if (const auto number = numbers.find(name); number != numbers.end()) return Const(*graph, number->second);
  char* end = nullptr;
  const __float128 number = strtoflt128(name.c_str(), &end);
  const auto high = static_cast<double>(number);
  const bool is_number = !name.empty() && name[0] != ' ' && *end == '\0' && std::isfinite(high);
  Require(is_number, "'{}' is no input, attribute, earlier node or finite number", name.substr(0, kMostShown));
  return Const(*graph, high, static_cast<double>(number - high));
}

void NamedParts::RequireNew(const std::string& name) const {
  Require(!values.contains(name) && !numbers.contains(name), "'{}' is the name of two things; give each its own",
          name.substr(0, kMostShown));
}

void NamedParts::AddValue(const std::string& name, Expr value) {
  RequireNew(name);
  values.emplace(name, value);
}

void NamedParts::AddNumber(const std::string& name, double value) {
  RequireNew(name);
  numbers.emplace(name, value);
}

int64_t NamedParts::IntegerOf(const std::string& part, std::string_view where) const {
  const bool has_sign = part.starts_with('-');
  const std::string name = part.substr(has_sign ? 1 : 0);
  std::optional<int64_t> number = ParseNumber<int64_t>(part);
  if (const auto axis = axes.find(name); axis != axes.end()) {
    number = has_sign ? -axis->second.extent : axis->second.extent;
  } else if (const auto attribute = numbers.find(name); attribute != numbers.end()) {
    const double value = has_sign ? -attribute->second : attribute->second;
    const bool is_whole = std::fabs(value) <= kMostOffset && value == std::floor(value);
    number = is_whole ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
  }
  const bool is_near = number && *number <= kMostOffset && *number >= -kMostOffset;
  Require(is_near, "{} has '{}'; give integers up to {}, axes and attributes that are integers", where,
          part.substr(0, kMostShown), kMostOffset);
  return *number;
}

int64_t NamedParts::StartOf(const Step& step) const {
  Require(step.start.size() <= kMostParts, "start has {} parts; give at most {}", step.start.size(), kMostParts);
  const bool is_small = step.stride <= kMostStride && step.stride >= -kMostStride;
  Require(is_small, "stride is {}; give one up to {}", step.stride, kMostStride);
  int64_t start = 0;
  for (const std::string& part : step.start) start += IntegerOf(part, "start");
  return start;
}

// The place along the first axis for each of windows: (start + the sum of strides and indices) / divisor; -1 beyond its
// ends and where the divisor leaves a rest.
std::vector<int64_t> NamedParts::PlacesOf(const Step& step, const Axes& along, int64_t start) const {
  const size_t count = along.list.size() - 1;
  Require(step.strides.size() == count && count > 0, "windows has {} new axes and {} strides; give one for each", count,
          step.strides.size());
  const int64_t divisor = step.divisor.empty() ? 1 : IntegerOf(step.divisor, "divisor");
  Require(divisor >= 1, "divisor is {}; give one from 1 on", divisor);
  std::vector<int64_t> places{start};
  for (size_t k = 0; k < count; ++k) {
    const int64_t stride = IntegerOf(step.strides[k], "strides"), extent = along.list[k + 1].extent;
    // No place is left of an extent of 0.
    const bool has_room = extent <= kMostPlaces / std::max<int64_t>(1, std::ssize(places));
    Require(has_room, "windows: more than {} places; take smaller extents", kMostPlaces);
    Require(std::abs(stride) <= kMostStride, "strides has {}; give numbers up to {}", stride, kMostStride);
    std::vector<int64_t> more;
    for (const int64_t place : places) {
      for (int64_t i = 0; i < extent; ++i) more.push_back(place + i * stride);
    }
    places = std::move(more);
  }
  for (int64_t& place : places) {
    const bool is_there = place >= 0 && place % divisor == 0 && place / divisor < along.list[0].extent;
    place = is_there ? place / divisor : -1;
  }
  return places;
}

void NamedParts::AddStep(const Step& step) try {
  const auto maker = AllMakers().find(step.function);
  Require(maker != AllMakers().end(), "no function '{}'; there are {}", step.function,
          fmt::join(AllMakers() | std::views::keys, ", "));
  const auto& [takes, along, make] = maker->second;
  Require(step.of.size() == takes, "{} takes {} values, and gets {}", step.function, takes, step.of.size());
  const bool fits = along < 0 ? !step.axes.empty() : step.axes.size() == static_cast<size_t>(along);
  Require(fits, "{} takes {}, and gets {}", step.function,
          along < 0 ? "at least one axis" : fmt::format("{} axes", along), step.axes.size());
  const bool takes_places = step.function == "take";
  const bool selects = step.function.ends_with("largest") || step.function.ends_with("smallest");
  Require(step.to.empty() || takes_places || selects || step.function == "reshape",
          "{} has no 'to'; reshape, take, largest and smallest have", step.function);
  Require(step.ties.empty() || selects, "{} has no 'ties'; largest and smallest have", step.function);
  Require(step.places.empty() || takes_places, "{} has no 'places'; take has", step.function);
  Require(graph != nullptr, "has no input; state at least one");
  const bool may_stay = step.function == "at";  // from an axis to itself
  const bool takes_windows = step.function == "windows";
  Require(takes_windows || (step.strides.empty() && step.divisor.empty()), "{} has no strides; windows has",
          step.function);
  Operands operands{{}, AxesOf(step.axes, !may_stay), step, StartOf(step), AxesOf(step.to), graph, {}};
  if (takes_windows) operands.places = PlacesOf(step, operands.axes, operands.start);
  for (const std::string& name : step.of) operands.values.push_back(ValueOf(name));
  AddValue(step.name, make(operands));
} catch (const FormulaError& error) {
  throw FormulaError(fmt::format("node {}: {}", step.name, error.what()));
}

}  // namespace assay::formula
