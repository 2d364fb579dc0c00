// SPDX-License-Identifier: Apache-2.0
// An operator as its author writes it: a function that names axes, attributes and operands and makes outputs from them.
// The function runs twice: once without a case, for the schema, and once for each case, for its graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/case_spec.h"
#include "harness/core/model/contract.h"
#include "ops/formula/changes.h"
#include "ops/formula/expr.h"

namespace assay::formula {

// Purpose of an operand, which decides how a fill writes it.
enum class Role : uint8_t {
  kData,       // the fill itself
  kWeight,     // random fills: around 1, as trained weights are
  kPositive,   // the fill's magnitudes
  kBase,       // of powers: the fill's magnitudes, but for numbers below zero (ops/formula_operator/powers.h)
  kExponent,   // where these stand integers, else the fill itself
  kTable,      // random fills: within [-1, 1], as sines and cosines are
  kUnit,       // the fill itself, but of numbers beyond 1 and -1 their reciprocals
  kOffset,     // the fill itself, added or subtracted; zero in twins, whose ones it would hide or cancel
  kCondition,  // 1 where the fill is above zero, else 0; 1 in twins
  kPlaces,     // integers that speak of an axis (InPlaces): all fills draw them from the whole axis
  kZero,       // codes of zero, added or subtracted: as the fill makes the type of 8 bits whose codes they are
  kScale,      // what data are divided by: so that quotients fill the output's range and leave it at both ends
  kCompared,   // the fill itself, but every second number is that of the first operand in its place
  kNonFinite,  // the fill itself, but every second number is NaN or infinite
  kDivisor,    // of integers: the fill itself, but 3 and 2 in the place of 0 and -1
  kPowerCode,  // codes of powers of two, 2^(code - 127): near 127, where a fill has NaN some of 255
  kPosition,   // all fills: within [-1.25, 1.25], as places of samples beside an image that ends at 1
};

// Where the type of an output comes from.
struct OutputType {
  enum class Kind : uint8_t {
    kListed,  // the dtype list of a case
    kLike,    // an input
    kWide,    // f64 where an operand is f64, else f32, as sums have it
    kStated,  // the type that is stated
  };
  Kind kind = Kind::kListed;
  size_t input = 0;          // of kLike
  DType type = DType::kI64;  // of kStated
  bool in_place = false;     // its memory is that of the input
};

// An attribute that is 0 or 1.
struct Flag {
  std::string key;
  bool on = false;
};

// The attributes of a case, and the types of its operands, the first output's last. `schedule`: one of
// Definition::schedules.
struct AttrValues {
  Algorithm schedule = Algorithm::kDirect;
  std::vector<DType> types;
  bool lacks_operand = false;  // that of Definition::InIfListed
  std::map<std::string, int64_t, std::less<>> integers;
  std::map<std::string, double, std::less<>> reals;
  std::map<std::string, std::string, std::less<>> names;
};

class Definition {
 public:
  using Author = std::function<void(Definition&)>;
  // Definitions of the schema, where every axis has extent 2, and of a case. `given` are choices that are not the
  // default ones. Both throw FormulaError, with the operator's name, if the author's function is wrong.
  static Definition ForSchema(std::string_view op, const Author& author, const AttrList& given = {});
  static Definition ForCase(std::string_view op, const Author& author, const AttrValues& values);
  Definition(const Definition&) = delete;
  Definition& operator=(const Definition&) = delete;

  // For authors. Attributes appear in case ids in the order in which they are asked for.
  void SetDoc(std::string doc) { doc_ = std::move(doc); }
  // Cases with fewer than `least` elements are refused.
  formula::Axis Axis(std::string_view key, std::string_view doc, int64_t least = 0);
  // No attribute: of `times` the extent of another axis, over `over`. `text`: for people, as "2*n".
  formula::Axis DerivedAxis(std::string_view text, const formula::Axis& of, int64_t times, int64_t over = 1);
  // No attribute: of this extent in every case.
  formula::Axis FixedAxis(std::string_view text, int64_t extent);
  double Real(std::string_view key, std::string_view default_value, std::string_view doc);
  // `choices`: values that designs try, the default first; none: the default and the next integer. They refuse nothing.
  int64_t Integer(std::string_view key, std::string_view default_value, std::string_view doc,
                  std::vector<std::string> choices = {});
  // The first choice is the default.
  std::string Choice(std::string_view key, std::vector<std::string> choices, std::string_view doc);
  // Default: 0.
  assay::formula::Flag Flag(std::string_view key, std::string_view doc);
  Expr In(std::string_view name, const Axes& axes, Role role = Role::kData);
  // One that a dtype list may leave out, and its case with it: "e4m3-f32-f32" beside "i8-f32-i8-f32". An operator has
  // one such operand at most, and a list without it at least two types.
  std::optional<Expr> InIfListed(std::string_view name, const Axes& axes, Role role = Role::kData);
  // Alternative formulas of the same outputs: `state` makes them the way that a contract with this alg= computes them.
  // The first is Algorithm::kDirect, of which golden values are; bounds are of the one that the contract names. Without
  // a word of schedules there is one, kDirect.
  void Schedule(Algorithm algorithm, const std::function<void()>& state);
  // Integers that are places along an axis, in any type of integers that SetTypes names.
  Expr InPlaces(std::string_view name, const Axes& axes, const formula::Axis& along,
                PlaceKind kind = PlaceKind::kIndices);
  // Outputs, in their order. The type of the first is in the dtype list of a case, behind those of the inputs.
  void Out(std::string_view name, Expr value, const Axes& axes);
  // Output converted with saturation: results beyond the type's largest finite numbers, or its integers, become one of
  // these. NaN stays NaN; integer types have none, so any integer is right then.
  void OutSaturated(std::string_view name, Expr value, const Axes& axes);
  // The type of the first output; f32 in the schema.
  DType TypeOfResult() const;
  // The type of an operand by its place in the dtype list; f32 in the schema.
  DType TypeOf(size_t operand) const;
  // Refuses inputs whose last stated operand has NaN, infinities or numbers beyond `most` in size.
  void KeepWithin(double most) { largest_[roles_.size() - 1] = most; }
  // Output with the type of an input. OutInPlace also uses the input's memory, and has its axes.
  void OutLike(std::string_view name, Expr value, const Axes& axes, std::string_view input);
  void OutInPlace(std::string_view name, Expr value, std::string_view input);
  // Output of that type in every case.
  void OutOfType(std::string_view name, Expr value, const Axes& axes, DType type);
  // Places of a selection, as i64.
  void OutPlaces(std::string_view name, Expr places, const Axes& axes);
  // Where the flag is on, of the type that sums have (OutputType::kWide).
  void OutIf(const assay::formula::Flag& flag, std::string_view name, Expr value, const Axes& axes);
  // Allowed types of the operands in a dtype list, inputs first, as "bf16-f32-bf16"; a single type is that of all.
  // Default: f64, f32, f16 and bf16 for all.
  void SetTypes(std::vector<std::string> types) { types_ = std::move(types); }
  // Why a case makes no sense: `why` when `bad`. The first one counts. Returns `bad`: where the formula cannot even be
  // written then, its author returns.
  bool RefuseIf(bool bad, std::string_view why);

  // Results of the definition.
  const Graph& graph() const { return *graph_; }
  OpSchema Schema() const;
  const std::vector<Algorithm>& schedules() const { return schedules_; }
  const std::vector<std::string>& types() const { return types_; }
  const std::vector<Role>& roles() const { return roles_; }             // of the inputs
  const std::map<size_t, double>& largest() const { return largest_; }  // of inputs that KeepWithin limits
  // Type of an output if the operands of the dtype list have these types.
  DType TypeOfOutput(size_t output, const std::vector<DType>& listed) const;
  uint32_t AliasOfOutput(size_t output) const;  // as Operand::alias
  bool saturates() const { return saturates_; }
  // Leaves of the graph what this output needs. The graph's first output is then that one.
  void KeepOutput(size_t output);
  // Whether the graph has such a node, and is now another one.
  bool Change(const GraphChange& change);
  const std::string& refusal() const { return refusal_.empty() ? graph_->refusal : refusal_; }
  struct Derived {
    int axis, of;
    int64_t times, over;
  };
  // How an axis follows from another one; null where it does not.
  const Derived* FindDerived(int axis) const;

 private:
  Definition(std::string_view op, const AttrValues* values);
  static Definition Run(Definition definition, const Author& author);
  void RequireWhole() const;
  void RequireTypes() const;
  void RequireNewName(std::string_view what, std::string_view name) const;
  void AddAttr(AttrDef def);
  // The value of a case; of the schema the default.
  template <class T>
  T Number(AttrType type, std::map<std::string, T, std::less<>> AttrValues::*of_case, std::string_view key,
           std::string_view default_value, std::string_view doc);
  void AddOutputOf(std::string_view name, Expr value, const Axes& axes, OutputType type);
  size_t InputNumber(std::string_view name) const;
  std::string LayoutText(const std::vector<int>& axes) const;

  bool saturates_ = false;
  AttrList given_;  // to the schema

  std::string op_, doc_, refusal_, may_lack_;
  const AttrValues* values_;  // none: the schema
  std::vector<AttrDef> attrs_;
  std::vector<std::string> types_ = {"f32", "bf16", "f16", "f64"};
  std::vector<Role> roles_;
  std::map<size_t, double> largest_;
  std::vector<Algorithm> schedules_ = {Algorithm::kDirect};
  std::vector<Derived> derived_;
  std::vector<OutputType> output_types_;
  std::vector<OperandDoc> optional_outputs_;  // of the schema
  std::unique_ptr<Graph> graph_;              // stays where it is when the definition moves

 public:
  Definition(Definition&&) = default;
};

}  // namespace assay::formula
