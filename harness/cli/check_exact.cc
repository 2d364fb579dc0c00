// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/check_exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/base/infinity.h"
#include "harness/compare/localise.h"

namespace assay::cli {
namespace {

// The largest power of two that x is a multiple of; infinity for 0.
double UnitOf(double x) {
  if (x == 0) return kInfinity;
  int exponent = 0;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return std::ldexp(static_cast<double>(digits & -digits), exponent - 53);
}

tl::unexpected<Error> NotExact(const std::string& what, const Contract& contract) {
  return UsageError(fmt::format(
      "--exact-ulp asks for data on which every order of operations is exact, but {}, and {} holds integers up to "
      "2^{:g} exactly: leave --exact-ulp out, and the bound judges the result, or dump small integers",
      what, ToText(contract), std::log2(ExactIntegers(contract))));
}

// The unit of an operand's finite values, if they are few enough of it.
Result<double> UnitOfOperand(const Operand& operand, const Tensor& tensor, const Contract& contract) {
  const std::vector<double> values = tensor.ToDoubles();
  double unit = kInfinity, largest = 0;
  size_t finest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    largest = std::max(largest, std::fabs(values[i]));
    if (UnitOf(values[i]) >= unit) continue;
    unit = UnitOf(values[i]);
    finest = i;
  }
  // A single level of the operand's own precision is exact, whatever adds it.
  const int digits = IsFloat(tensor.dtype()) ? FormatOf(tensor.dtype()).precision : 0;
  if (!(largest / unit > std::max(ExactIntegers(contract), std::ldexp(1.0, digits)))) return unit;
  const auto element = static_cast<int64_t>(finest) / (IsComplex(tensor.dtype()) ? 2 : 1);
  return NotExact(
      fmt::format("operand {} has {:.9g} at {} beside values of up to {:.9g}, which as multiples of one "
                  "unit, 2^{:g}, have too many bits",
                  operand.name, values[finest], IndexText(tensor.shape(), element), largest, std::log2(unit)),
      contract);
}

bool IsPowerOfTwo(double x) {
  return UnitOf(x) == std::fabs(x);
}

// The common unit of the terms of a sum of products, from those of the operands; none: no such sum, or factors that
// round on their own.
std::optional<double> UnitOfTerms(const Problem& problem, const std::vector<double>& units) {
  const std::string& op = problem.spec.op;
  if (op == "reduce") return problem.Text("kind") == "sum" ? std::optional(units[0]) : std::nullopt;
  if (op != "matmul" && op != "conv") return std::nullopt;
  double unit = units[0] * units[1];
  if (op == "matmul") {
    const double alpha = problem.Float("alpha"), beta = problem.Float("beta");
    if (!IsPowerOfTwo(alpha) || (beta != 0 && !IsPowerOfTwo(beta))) return std::nullopt;
    unit *= std::fabs(alpha);
    if (beta != 0) unit = std::min(unit, std::fabs(beta) * units[2]);
  }
  if (problem.Int("bias") != 0) unit = std::min(unit, units.back());
  return unit;
}

}  // namespace

Status CheckExactData(const UserCase& user) {
  const CaseData& data = user.data;
  std::vector<double> units;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    const auto unit = UnitOfOperand(data.problem.inputs[i], data.inputs[i], user.contract);
    if (!unit) return tl::unexpected(unit.error());
    units.push_back(*unit);
  }
  const auto unit = UnitOfTerms(data.problem, units);
  const bool sums = unit && user.contract.alg == Algorithm::kDirect && !data.golden.magnitude.empty();
  for (int64_t i = 0; sums && i < data.golden.size(); ++i) {
    const double y = data.golden.value[static_cast<size_t>(i)];
    // The positive or the negative terms together; the plane is rounded up by a little.
    const double largest = 0.5 * (data.golden.magnitude[i] + std::fabs(y)) * (1 - 0x1p-20);
    if (!std::isfinite(y) || !(largest / *unit > ExactIntegers(user.contract))) continue;
    return NotExact(fmt::format("terms of output {} add up to {:.9g} on the way, in units of {:.3g}",
                                IndexText(data.golden.shape, i), largest, *unit),
                    user.contract);
  }
  return {};
}

}  // namespace assay::cli
