// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/contract_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "harness/core/base/text.h"

namespace assay {
namespace {

template <auto kMember>
ContractField Choice(std::string_view name, std::vector<ContractValue> values) {
  return {name, std::move(values), [](const Contract& c) { return static_cast<int>(c.*kMember); },
          [](Contract& c, int code) { c.*kMember = static_cast<std::remove_reference_t<decltype(c.*kMember)>>(code); }};
}

template <auto kMember>
ContractField Choice(std::string_view name, int Contract::*first, int Contract::*second,
                     std::vector<ContractValue> values) {
  ContractField field = Choice<kMember>(name, std::move(values));
  field.first = first;
  field.second = second;
  return field;
}

template <class E>
constexpr int C(E value) {
  return static_cast<int>(value);
}

// OpenCL's half_ functions, the loosest that a published specification bounds.
constexpr double kLargestMathUlp = 8192;
constexpr double kAnyMath = std::numeric_limits<double>::infinity();

bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t space = std::min(words.find(' '), words.size());
    if (words.substr(0, space) == word) return true;
    words.remove_prefix(std::min(space + 1, words.size()));
  }
  return false;
}

const ContractValue& CurrentValue(const ContractField& field, const Contract& c) {
  return *std::ranges::find(field.values, field.get(c), &ContractValue::code);
}

// "<13,32>" within the value's limits.
bool ParseParameters(const ContractField& field, const ContractValue& value, std::string_view text, Contract& c) {
  if (value.parameters.empty()) return text.empty();
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos || !text.starts_with('<') || !text.ends_with('>')) return false;
  const auto first = ParseNumber<int>(Trim(text.substr(1, comma - 1)));
  const auto second = ParseNumber<int>(Trim(text.substr(comma + 1, text.size() - comma - 2)));
  const auto& [low1, high1, low2, high2] = value.limits;
  if (!first || !second || *first < low1 || *first > high1 || *second < low2 || *second > high2) return false;
  c.*field.first = *first;
  c.*field.second = *second;
  return true;
}

// Compares parameters of equal values, which the table of the partial order does not cover.
bool ParametersMeet(const ContractField& field, const Contract& d, const Contract& r) {
  if (field.name == "acc" && d.acc == Accumulator::kTensorCore) {
    if (r.acc == Accumulator::kTensorCore) return d.tc_bits >= r.tc_bits && d.tc_block >= r.tc_block;
    if (r.acc == Accumulator::kF16) return d.tc_bits >= 11;  // its 2^-F against the 2^-11 of f16
  }
  if (field.name == "alg" && d.alg == Algorithm::kWinograd && r.alg == Algorithm::kWinograd) {
    return d.winograd_r == r.winograd_r && d.winograd_m <= r.winograd_m;  // larger tiles amplify more
  }
  return true;
}

}  // namespace

const std::vector<ContractField>& ContractFields() {
  using enum InputRounding;
  using A = Accumulator;
  using M = Intermediate;
  using O = OutputRounding;
  using Z = Flush;
  using G = Algorithm;
  using N = NanPolicy;
  using R = MaskedRows;
  // clang-format off
  static const std::vector<ContractField> fields = {
      // By error per operand: 0, 3 * 2^-17, 2^-11, 2^-10, 2^-8, 2^-4.
      Choice<&Contract::in>("in", {
          {"exact",  C(kExact),  "bf16x3 tf32rn tf32rz bf16 fp8"},
          {"bf16x3", C(kBF16x3), "tf32rn tf32rz bf16 fp8"},
          {"tf32rn", C(kTF32RN), "tf32rz bf16 fp8"},
          {"tf32rz", C(kTF32RZ), "bf16 fp8"},
          {"bf16",   C(kBF16),   "fp8"},
          {"fp8",    C(kFP8),    ""}}),
      // i32 is exact on the integers it is for. The floats go by unit roundoff; f16's smaller range does not count
      // here, because overflow and underflow are terms of the bound itself. ParametersMeet has more on tc.
      Choice<&Contract::acc>("acc", &Contract::tc_bits, &Contract::tc_block, {
          {"i32",  C(A::kI32),  "f64 f32 tc f16 bf16"},
          {"f64",  C(A::kF64),  "f32 tc f16 bf16"},
          {"f32",  C(A::kF32),  "tc f16 bf16"},
          {"tc",   C(A::kTensorCore), "f16 bf16", "<F,b>", {8, 30, 1, 65536}},
          {"f16",  C(A::kF16),  "bf16"},
          {"bf16", C(A::kBF16), ""}}),
      Choice<&Contract::mid>("mid", {
          {"none", C(M::kNone), "f16 bf16"},
          {"f16",  C(M::kF16),  "bf16"},
          {"bf16", C(M::kBF16), ""}}),
      Choice<&Contract::out>("out", {
          // To nearest, of ties the even one or the one farther from zero: neither is better.
          {"rn",  C(O::kNearest),     "rz any"},
          {"rna", C(O::kNearestAway), "rz any"},
          {"rz",  C(O::kTowardZero),  "any"},
          {"any", C(O::kAny),         ""}}),
      Choice<&Contract::ftz>("ftz", {
          {"none", C(Z::kNone), "in out all"},
          {"in",   C(Z::kIn),   "all"},
          {"out",  C(Z::kOut),  "all"},
          {"all",  C(Z::kAll),  ""}}),
      Choice<&Contract::alg>("alg", &Contract::winograd_m, &Contract::winograd_r, {
          {"direct",    C(G::kDirect),    "winograd fft bluestein onepass any"},
          {"winograd",  C(G::kWinograd),  "any", "<m,r>", {1, 16, 1, 16}},
          {"fft",       C(G::kFft),       "any"},
          {"bluestein", C(G::kBluestein), "any"},
          {"onepass",   C(G::kOnePass),   "any"},
          {"any",       C(G::kAny),       ""}}),
      {"math", {}},
      // Policies are not better or worse than one another: one meets itself, or a requirement that does not care.
      Choice<&Contract::nan>("nan", {
          {"propagate", C(N::kPropagate), "any"},
          {"ignore",    C(N::kIgnore),    "any"},
          {"any",       C(N::kAny),       ""}}),
      Choice<&Contract::masked>("masked", {
          {"zero", C(R::kZero), "any"},
          {"nan",  C(R::kNan),  "any"},
          {"any",  C(R::kAny),  ""}}),
      Choice<&Contract::deterministic>("det", {{"yes", 1, "no"}, {"no", 0, ""}}),
      Choice<&Contract::batch_invariant>("batchinv", {{"yes", 1, "no"}, {"no", 0, ""}}),
  };
  // clang-format on
  return fields;
}

std::string ValueText(const ContractField& field, const Contract& c) {
  if (field.values.empty()) return std::isinf(c.math_ulp) ? "any" : fmt::to_string(c.math_ulp);
  const ContractValue& value = CurrentValue(field, c);
  if (value.parameters.empty()) return std::string(value.name);
  return fmt::format("{}<{},{}>", value.name, c.*field.first, c.*field.second);
}

std::string KnownValues(const ContractField& field) {
  if (field.values.empty()) return fmt::format("a number of ulp in [0, {}]", kLargestMathUlp);
  std::string text;
  for (const ContractValue& value : field.values) {
    text += fmt::format("{}{}{}", text.empty() ? "" : "|", value.name, value.parameters);
    const auto& [low1, high1, low2, high2] = value.limits;
    if (!value.parameters.empty()) text += fmt::format(" (of {} to {} and {} to {})", low1, high1, low2, high2);
  }
  return text;
}

bool ParseValue(const ContractField& field, std::string_view text, Contract& c) {
  if (field.values.empty()) {
    const auto ulp = text == "any" ? kAnyMath : ParseNumber<double>(text);
    if (!ulp || !(text == "any" || (*ulp >= 0 && *ulp <= kLargestMathUlp))) return false;
    c.math_ulp = *ulp;
    return true;
  }
  const auto it = std::ranges::find(field.values, text.substr(0, text.find('<')), &ContractValue::name);
  if (it == field.values.end() || !ParseParameters(field, *it, text.substr(it->name.size()), c)) return false;
  field.set(c, it->code);
  return true;
}

void SetWeakest(const ContractField& field, Contract& c) {
  if (field.values.empty()) {
    c.math_ulp = kAnyMath;
  } else {
    field.set(c, field.values.back().code);
  }
}

bool FieldMeets(const ContractField& field, const Contract& d, const Contract& r) {
  if (field.values.empty()) return d.math_ulp <= r.math_ulp;
  const ContractValue& declared = CurrentValue(field, d);
  const ContractValue& required = CurrentValue(field, r);
  return (declared.code == required.code || HasWord(declared.beats, required.name)) && ParametersMeet(field, d, r);
}

}  // namespace assay
