// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/core/data/infinity.h"
#include "harness/judge/localise.h"
#include "harness/tools/check/check_case.h"
#include "ops/exact_code.h"

namespace assay {
namespace {

// Integers up to `held` are what `holder` has room for.
tl::unexpected<Error> NotExact(const std::string& what, const std::string& holder, double held) {
  return UsageError(
      fmt::format("--exact-ulp needs data on which every order of operations is exact, but {}, and {} holds integers "
                  "up to 2^{:g} exactly: leave --exact-ulp out to judge by the bound, or dump small integers",
                  what, holder, std::log2(held)));
}

// Bits of a factor that the contract's input rounding keeps; none: all. 0: those of a scale that is not known.
std::optional<int> BitsOfFactors(const Contract& contract, DType type) {
  if (!IsFloat(type) && !IsComplex(type)) return std::nullopt;
  if (InputRoundoff(contract, type) == 0) return std::nullopt;
  switch (contract.in) {
    case InputRounding::kTF32RN:
    case InputRounding::kTF32RZ:
      return 11;
    case InputRounding::kBF16:
    case InputRounding::kBF16x3:  // the product of two second parts is left out
      return FormatOf(DType::kBF16).precision;
    default:
      return 0;
  }
}

// Whether the contract's input rounding applies to operand i: a bias, or the matrix that beta scales, is no factor.
bool IsRounded(const std::optional<SumForm>& sum, size_t i) {
  return !sum || i < sum->factors;
}

std::string ElementText(const Operand& operand, const Tensor& tensor, size_t i, double value) {
  const auto element = static_cast<int64_t>(i) / (IsComplex(tensor.dtype()) ? 2 : 1);
  return fmt::format("operand {} has {:.9g} at {}", operand.name, value, IndexText(tensor.shape(), element));
}

// That rounding the operand as the contract does changes none of its values.
Status CheckKeeps(const Operand& operand, const Tensor& tensor, const Contract& contract) {
  const auto bits = BitsOfFactors(contract, tensor.dtype());
  if (!bits) return {};
  if (*bits == 0) {
    return UsageError(
        fmt::format("--exact-ulp needs operands that no rounding changes, but {} scales operand {} to fp8 by an "
                    "unknown factor: leave --exact-ulp out",
                    ToText(contract), operand.name));
  }
  const std::vector<double> values = tensor.ToDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || values[i] == 0) continue;
    if (std::fabs(values[i]) / LowestBit(values[i]) < std::ldexp(1.0, *bits)) continue;
    return NotExact(ElementText(operand, tensor, i, values[i]) + ", which the contract rounds", ToText(contract),
                    std::ldexp(1.0, *bits));
  }
  return {};
}

// The unit of an operand's finite values, if they are few enough of it.
Result<double> UnitOfOperand(const Operand& operand, const Tensor& tensor, const Contract& contract) {
  const std::vector<double> values = tensor.ToDoubles();
  double unit = kInfinity, largest = 0;
  size_t finest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    largest = std::max(largest, std::fabs(values[i]));
    if (LowestBit(values[i]) >= unit) continue;
    unit = LowestBit(values[i]);
    finest = i;
  }
  // A single level of the operand's own precision is exact, whatever adds it.
  const double own = IsFloat(tensor.dtype()) ? std::ldexp(1.0, FormatOf(tensor.dtype()).precision) : 0;
  const double accumulated = ExactIntegers(contract), held = std::max(own, accumulated);
  if (!(largest / unit > held)) return unit;
  return NotExact(fmt::format("{} beside values of up to {:.9g}, which as multiples of one unit, 2^{:g}, have too many "
                              "bits",
                              ElementText(operand, tensor, finest, values[finest]), largest, std::log2(unit)),
                  own > accumulated ? std::string(Name(tensor.dtype())) : ToText(contract), held);
}

bool IsPowerOfTwo(double x) {
  return LowestBit(x) == std::fabs(x);
}

// The common unit of the terms of a sum, from those of the operands; none: alpha or beta round on their own.
std::optional<double> UnitOfTerms(const SumForm& sum, const std::vector<double>& units) {
  if (!IsPowerOfTwo(sum.alpha) || (sum.beta != 0 && !IsPowerOfTwo(sum.beta))) return std::nullopt;
  double unit = std::fabs(sum.alpha);
  for (size_t i = 0; i < sum.factors; ++i) unit *= units[i];
  if (sum.beta != 0) unit = std::min(unit, std::fabs(sum.beta) * units[sum.factors]);
  return sum.bias ? std::min(unit, units.back()) : unit;
}

// The positive or the negative terms of output i together; the planes are rounded up by a little.
double LargestSum(const Golden& golden, int64_t i) {
  return 0.5 * (golden.magnitude[i] + std::fabs(golden.value[static_cast<size_t>(i)])) * (1 - 0x1p-20);
}

// Relative slack of the magnitudes that the fast tier sums in f32, at most.
constexpr double kFastSlack = 0x1p-10;

// That no order of a sum of products, whose terms are multiples of `unit`, needs more bits than the contract has.
Status CheckSums(const UserTensors& user, double unit) {
  const PreparedCase& data = user.data;
  const double held = ExactIntegers(user.contract);
  std::optional<Golden> tight;  // with magnitudes summed in f64, where those of the fast tier do not tell
  for (int64_t i = 0; i < data.golden().size(); ++i) {
    if (!std::isfinite(data.golden().value[static_cast<size_t>(i)])) continue;
    double largest = LargestSum(data.golden(), i);
    if (!(largest / unit > held)) continue;
    if (data.golden().tier == Tier::kFast && largest / unit <= held * (1 + kFastSlack)) {
      if (!tight) tight = data.op->ComputeGolden(data.problem, 0, data.inputs, Tier::kReproducible);
      largest = LargestSum(*tight, i);
      if (!(largest / unit > held)) continue;
    }
    return NotExact(fmt::format("terms of output {} add up to {:.9g} on the way, in units of {:.3g}",
                                IndexText(data.golden().shape, i), std::round(largest / unit) * unit, unit),
                    ToText(user.contract), held);
  }
  return {};
}

}  // namespace

Status CheckExactData(const UserTensors& user) {
  const PreparedCase& data = user.data;
  // Flushed inputs may change what is selected.
  const ProblemTraits traits = data.op->TraitsOf(data.problem, 0);
  if (traits.selects && user.contract.ftz == Flush::kNone) return {};
  const std::optional<SumForm>& sum = traits.sum;
  std::vector<double> units;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const Operand& operand = data.problem.inputs[i];
    if (IsRounded(sum, i)) {
      if (auto keeps = CheckKeeps(operand, data.inputs[i], user.contract); !keeps) return keeps;
    }
    const auto unit = UnitOfOperand(operand, data.inputs[i], user.contract);
    if (!unit) return tl::unexpected(unit.error());
    units.push_back(*unit);
  }
  const auto unit = sum ? UnitOfTerms(*sum, units) : std::nullopt;
  const bool sums = unit && user.contract.alg == Algorithm::kDirect && !data.golden().magnitude.empty();
  return sums ? CheckSums(user, *unit) : Status{};
}

}  // namespace assay
