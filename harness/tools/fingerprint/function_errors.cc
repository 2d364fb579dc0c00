// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/function_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "golden/element.h"
#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"
#include "harness/engine/cases/prepared_case.h"

namespace assay {
namespace {

constexpr int64_t kGrain = int64_t{1} << 14;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool SameOrNan(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Whether input a is named rather than b: the smaller one, of both signs the positive one.
bool IsBefore(double a, double b) {
  return std::fabs(a) < std::fabs(b) || (std::fabs(a) == std::fabs(b) && a > b);
}

void TakeLarger(double& most, double& input, double ulp, double x) {
  if (ulp > most || (ulp == most && ulp > 0 && IsBefore(x, input))) most = ulp, input = x;
}

void NameSpecial(FunctionErrors& errors, bool is_first, double x) {
  if (is_first || IsBefore(x, errors.first_special)) errors.first_special = x;
}

// The nearest number of the format to value + rest, which a double alone cannot tell at a tie of the format.
double RoundSum(const FloatFormat& format, double value, double rest) {
  const bool is_wide = format.precision >= 53 || !std::isfinite(value) || rest == 0;
  return RoundTo(format, is_wide ? value : std::nextafter(value, rest > 0 ? kInfinity : -kInfinity));
}

// `error` in units of UlpAt(format, x), whose inverse is made of the bits of x where it is finite.
double UlpsOf(double error, const FloatFormat& format, double x) {
  constexpr int kBias = 1023, kFractionBits = 52, kExponentMask = 0x7ff;
  if (format.precision >= 53 || !(std::fabs(x) <= format.max_finite)) return error / UlpAt(format, x);
  const int biased = static_cast<int>(std::bit_cast<uint64_t>(x) >> kFractionBits) & kExponentMask;
  const int exponent = format.precision - 1 - std::max(biased - kBias, format.min_exponent);
  return error * std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kFractionBits);
}

// Whether the error of a golden value hides which number of the format is nearest to it.
bool IsClose(const FloatFormat& format, double value, double error, double rounded) {
  if (!(error > 0) || !std::isfinite(value)) return false;
  if (!std::isfinite(rounded)) return RoundTo(format, value - error) != RoundTo(format, value + error);
  return std::fabs(UlpsOf(std::fabs(value - rounded), format, value) - 0.5) <= 2 * UlpsOf(error, format, value);
}

using CountMember = std::pair<const char*, int64_t FunctionErrors::*>;
constexpr CountMember kCounters[] = {{"inputs", &FunctionErrors::inputs},
                                     {"finite", &FunctionErrors::finite},
                                     {"correct", &FunctionErrors::correct},
                                     {"wrong_nan", &FunctionErrors::wrong_nan},
                                     {"wrong_inf", &FunctionErrors::wrong_inf},
                                     {"wrong_zero", &FunctionErrors::wrong_zero},
                                     {"wrong_order", &FunctionErrors::turns},
                                     {"pairs", &FunctionErrors::pairs},
                                     {"odd", &FunctionErrors::odd},
                                     {"even", &FunctionErrors::even},
                                     {"not_odd", &FunctionErrors::not_odd},
                                     {"not_even", &FunctionErrors::not_even}};
using NumberMember = std::pair<const char*, double FunctionErrors::*>;
constexpr NumberMember kNumbers[] = {{"max_ulp", &FunctionErrors::most_ulp},
                                     {"worst_input", &FunctionErrors::worst_input},
                                     {"max_subnormal_ulp", &FunctionErrors::most_subnormal_ulp},
                                     {"worst_subnormal_input", &FunctionErrors::worst_subnormal_input},
                                     {"first_special", &FunctionErrors::first_special}};

}  // namespace

std::string FunctionErrors::Symmetry() const {
  if (pairs == 0) return "";
  return odd == pairs ? "odd" : even == pairs ? "even" : "";
}

int64_t FunctionErrors::Asymmetries() const {
  const std::string symmetry = Symmetry();
  return symmetry.empty() ? 0 : symmetry == "odd" ? not_odd : not_even;
}

void FunctionErrors::Merge(const FunctionErrors& other) {
  if (other.wrong_specials() > 0) NameSpecial(*this, wrong_specials() == 0, other.first_special);
  for (const auto& [name, member] : kCounters) this->*member += other.*member;
  TakeLarger(most_ulp, worst_input, other.most_ulp, other.worst_input);
  TakeLarger(most_subnormal_ulp, worst_subnormal_input, other.most_subnormal_ulp, other.worst_subnormal_input);
}

// Numbers are texts: an input may be infinite, and all digits come back.
Json ToJson(const FunctionErrors& errors) {
  Json json;
  for (const auto& [name, member] : kCounters) json[name] = errors.*member;
  for (const auto& [name, member] : kNumbers) json[name] = fmt::format("{}", errors.*member);
  return json;
}

Result<FunctionErrors> ParseFunctionErrors(const Json& json, const std::string& place) {
  FunctionErrors errors;
  const auto refuse = [&](const char* name) {
    return UsageError(
        fmt::format("{}: {} is missing or no number; remove the file, and its part is measured again", place, name));
  };
  for (const auto& [name, member] : kCounters) {
    if (!json.is_object() || !json.contains(name) || !json[name].is_number_integer()) return refuse(name);
    errors.*member = json[name].get<int64_t>();
  }
  for (const auto& [name, member] : kNumbers) {
    if (!json.contains(name) || !json[name].is_string()) return refuse(name);
    const auto text = json[name].get<std::string>();
    char* end = nullptr;
    errors.*member = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return refuse(name);
  }
  return errors;
}

ExactResults::ExactResults(const BoundCase& bound, const Tensor& x, Range counted)
    : in_(x.dtype()), out_(bound.problem.outputs[0].dtype), counted_(counted), x_(x.ToDoubles()), rounded_(x_.size()) {
  std::vector<Tensor> inputs;
  inputs.push_back(x.Clone());
  golden_ = bound.op->ComputeGolden(bound.problem, 0, inputs, ChooseTier("auto", bound.problem));
  const FloatFormat& format = FormatOf(out_);
  ParallelFor(golden_.size(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double rest = golden_.value_lo.empty() ? 0 : golden_.value_lo[i];
      rounded_[i] = RoundSum(format, golden_.value[i], rest);
    }
  });
  if (golden_.tier == Tier::kFast && !golden_.exact) SettleCloseCalls(bound, x);
}

void ExactResults::SettleCloseCalls(const BoundCase& bound, const Tensor& x) {
  const FloatFormat& format = FormatOf(out_);
  std::vector<int64_t> close;
  std::mutex mutex;
  ParallelFor(golden_.size(), kGrain, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> found;
    for (int64_t i = begin; i < end; ++i) {
      const double value = golden_.value[i], error = PlaneAt(golden_.error, i, golden_.size());
      if (IsClose(format, value, error, rounded_[i])) found.push_back(i);
    }
    const std::scoped_lock lock(mutex);
    close.insert(close.end(), found.begin(), found.end());
  });
  if (close.empty()) return;
  CaseSpec spec = bound.problem.spec;
  for (auto& [key, value] : spec.attrs) {
    if (key == "n") value = std::to_string(close.size());
  }
  const auto fewer = BindCase(spec);
  ASSAY_CHECK(fewer.has_value());  // a map of n elements is one of any number of them
  std::vector<double> values;
  for (const int64_t i : close) values.push_back(x_[i]);
  std::vector<Tensor> inputs;
  inputs.emplace_back(x.dtype(), Shape{std::ssize(close)});
  inputs[0].SetDoubles(values);
  const Golden better = (*fewer)->op->ComputeGolden((*fewer)->problem, 0, inputs, Tier::kReproducible);
  for (size_t k = 0; k < close.size(); ++k) {
    const double rest = better.value_lo.empty() ? 0 : better.value_lo[k];
    rounded_[close[k]] = RoundSum(format, better.value[k], rest);
  }
}

FunctionErrors ExactResults::Measure(const Tensor& y) const {
  const std::vector<double> got = y.ToDoubles();
  FunctionErrors all;
  std::mutex mutex;
  ParallelFor(counted_.end - counted_.begin, kGrain, [&](int64_t begin, int64_t end) {
    FunctionErrors some;
    MeasureRange(got, {counted_.begin + begin, counted_.begin + end}, some);
    const std::scoped_lock lock(mutex);
    all.Merge(some);
  });
  return all;
}

bool ExactResults::IsTurned(const std::vector<double>& got, int64_t i) const {
  const double rise = golden_.value[i] - golden_.value[i - 1];
  return (rise > 0 && got[i] < got[i - 1]) || (rise < 0 && got[i] > got[i - 1]);
}

// A number with the sign that a zero at element i should have; 0 where either sign is right, as of relu(-1). Golden
// values that are zero have no sign: at zero the next number of that sign has it.
double ExactResults::SideOfZero(int64_t i) const {
  if (golden_.value[i] != 0) return golden_.value[i];
  return x_[i] == 0 && i + 1 < golden_.size() ? golden_.value[i + 1] : 0;
}

void ExactResults::MeasureRange(const std::vector<double>& got, Range range, FunctionErrors& to) const {
  const FloatFormat &in = FormatOf(in_), &out = FormatOf(out_);
  const double in_normal = in.MinNormal(), out_normal = out.MinNormal();
  const int64_t half = std::ssize(x_) / 2;
  const auto add = [&](int64_t i) {
    ++to.inputs;
    const double rounded = rounded_[i], y = got[i], exact = golden_.value[i], x = x_[i];
    if (!std::isfinite(rounded) || !std::isfinite(y)) {
      if (SameOrNan(rounded, y)) return;
      NameSpecial(to, to.wrong_specials() == 0, x);
      (std::isnan(rounded) || std::isnan(y) ? to.wrong_nan : to.wrong_inf) += 1;
      return;
    }
    ++to.finite;
    to.correct += y == rounded ? 1 : 0;
    if (y == 0 && rounded == 0) {
      const double side = SideOfZero(i);
      to.wrong_zero += side != 0 && std::signbit(y) != (side < 0) ? 1 : 0;
    }
    const double rest = golden_.value_lo.empty() ? 0 : golden_.value_lo[i];
    const double own = PlaneAt(golden_.error, i, golden_.size());  // near underflow as large as an ulp
    const double ulp = UlpsOf(std::max(0.0, std::fabs((y - exact) - rest) - own), out, exact);
    if (std::fabs(x) >= in_normal && std::fabs(exact) >= out_normal) {
      TakeLarger(to.most_ulp, to.worst_input, ulp, x);
    } else {
      TakeLarger(to.most_subnormal_ulp, to.worst_subnormal_input, ulp, x);
    }
  };
  for (int64_t i = range.begin; i < range.end; ++i) {
    const int64_t other = half + i;
    add(i), add(other);
    if (i > 0) to.turns += (IsTurned(got, i) ? 1 : 0) + (IsTurned(got, other) ? 1 : 0);
    if (std::isnan(x_[i])) continue;
    const double exact = golden_.value[i], mirrored = golden_.value[other];
    ++to.pairs;
    to.odd += SameOrNan(exact, -mirrored) ? 1 : 0, to.even += SameOrNan(exact, mirrored) ? 1 : 0;
    to.not_odd += SameOrNan(got[i], -got[other]) ? 0 : 1, to.not_even += SameOrNan(got[i], got[other]) ? 0 : 1;
  }
}

}  // namespace assay
