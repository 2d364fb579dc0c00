// SPDX-License-Identifier: Apache-2.0
// The twin of operators that divide by scales or multiply with them, round and saturate: results half way between two
// numbers of the output, and beyond its largest and smallest one. Scales are powers of two, and all numbers short, so
// that every faithful division is exact, and ties that go where the contract says alone give the right result.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ops/exact_ties.h"
#include "ops/formula/error.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using formula::Definition;
using formula::Role;

// Numbers of so many bits stay what they are, whatever the contract rounds on the way.
int BitsKept(const Contract& contract) {
  const int f16 = FormatOf(DType::kF16).precision, bf16 = FormatOf(DType::kBF16).precision;
  int bits = contract.AccExactBits();
  if (contract.mid != Intermediate::kNone) bits = std::min(bits, contract.mid == Intermediate::kF16 ? f16 : bf16);
  if (contract.in == InputRounding::kTF32RN || contract.in == InputRounding::kTF32RZ) return std::min(bits, f16);
  return contract.in == InputRounding::kExact ? bits : std::min(bits, bf16);
}

// All finite numbers of a type of 8 bits, ascending.
std::vector<double> NumbersOf(DType type) {
  std::vector<uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  std::vector<double> numbers(codes.size());
  ToF64(type, codes.data(), numbers);
  std::erase_if(numbers, [](double x) { return !std::isfinite(x); });
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

// Half way between neighbours.
std::vector<double> TiesOf(const std::vector<double>& numbers) {
  std::vector<double> ties;
  for (size_t i = 1; i < numbers.size(); ++i) ties.push_back((numbers[i - 1] + numbers[i]) / 2);
  return ties;
}

// Beyond either end, by half a gap and more.
std::vector<double> BeyondOf(const std::vector<double>& numbers) {
  const double high = numbers.back(), low = numbers.front(), gap = high - numbers[numbers.size() - 2];
  std::vector<double> beyond;
  for (const double gaps : {0.5, 1.0, 1.5, 2.0, 3.0, 5.0})
    beyond.insert(beyond.end(), {high + gaps * gap, low - gaps * gap});
  for (const double times : {2.0, 3.0, 4.0}) beyond.insert(beyond.end(), {high * times, low * times});
  return beyond;
}

// Where the scale of an element lies: the strides of its axes in the output's order.
int64_t PlaceOf(const formula::Graph& graph, const std::vector<int>& axes, int64_t element) {
  int64_t place = 0, stride = 1;
  const std::vector<int>& all = graph.outputs[0].axes;
  for (size_t i = all.size(); i-- > 0;) {
    const int64_t extent = graph.Extent(all[i]), at = element % extent;
    element /= extent;
    if (std::ranges::find(axes, all[i]) == axes.end()) continue;
    place += at * stride;
    stride *= extent;
  }
  return place;
}

bool Holds(DType type, double x) {
  if (IsFloat(type)) return RoundTo(FormatOf(type), x) == x;
  const IntegerLimits limits = LimitsOf(type);
  return x == std::trunc(x) && x >= static_cast<double>(limits.low) && x <= static_cast<double>(limits.high);
}

bool Divides(const Definition& definition) {
  return std::ranges::find(definition.roles(), Role::kScale) != definition.roles().end();
}

class RoundingTwin {
 public:
  RoundingTwin(const Definition& definition, const Problem& problem, DType out, const Contract& contract, double zero)
      : graph_(definition.graph()),
        problem_(problem),
        out_(out),
        flushes_(contract.ftz != Flush::kNone),
        away_(contract.out == OutputRounding::kNearestAway),
        divides_(Divides(definition)),
        bits_(BitsKept(contract)),
        zero_(zero) {
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const Role role = definition.roles()[i];
      if (role == Role::kZero) {
        zero_point_ = i;
      } else {
        (role == Role::kData ? data_ : scale_) = i;
      }
    }
    const std::vector<double> numbers = NumbersOf(out);
    lowest_ = numbers.front();
    ties_ = TiesOf(numbers);
    beyond_ = BeyondOf(numbers);
  }

  std::vector<Tensor> Inputs() const {
    std::vector<Tensor> inputs;
    for (const Operand& input : problem_.inputs) inputs.emplace_back(input.dtype, input.shape);
    std::vector<double> scales(static_cast<size_t>(inputs[scale_].size()));
    // Integers have results half way between two others where they are multiplied with 1/2 and less.
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = std::ldexp(1.0, -static_cast<int>(i % 4) - !divides_);
    inputs[scale_].SetDoubles(scales);
    std::vector<double> zeros = {0};
    if (zero_point_) {
      zeros = ZeroPoints(inputs[*zero_point_].size());
      inputs[*zero_point_].SetDoubles(zeros);
    }
    std::vector<double> values(static_cast<size_t>(inputs[data_].size()));
    for (size_t i = 0; i < values.size(); ++i) {
      const double zero = zero_point_ ? zeros[PlaceIn(*zero_point_, i)] : 0;
      values[i] = ElementFor(i, scales[PlaceIn(scale_, i)], zero_ + zero);
    }
    inputs[data_].SetDoubles(values);
    return inputs;
  }

 private:
  size_t PlaceIn(size_t input, size_t element) const {
    return static_cast<size_t>(PlaceOf(graph_, graph_.inputs[input].axes, static_cast<int64_t>(element)));
  }

  // Different codes of the output's type, of which the first is not 0. Even ones: a tie goes to the same even number
  // whether they are added before it is rounded or afterwards.
  std::vector<double> ZeroPoints(int64_t count) const {
    std::vector<double> zeros;
    for (int64_t i = 0; i < count; ++i) zeros.push_back(lowest_ + static_cast<double>((130 + 54 * i) % 256));
    return zeros;
  }

  // One element in four saturates. Zero where no quotient will do.
  double ElementFor(size_t i, double scale, double zero) const {
    const bool saturates = i % 4 == 3;
    const std::vector<double>& quotients = saturates ? beyond_ : ties_;
    const size_t first = saturates ? i / 4 : i * 37 + i / 256;
    for (size_t k = 0; k < quotients.size(); ++k) {
      const double quotient = quotients[(first + k) % quotients.size()],
                   x = divides_ ? (quotient - zero) * scale : (quotient - zero) / scale;
      if (Serves(quotient, zero, x)) return x;
    }
    return 0;
  }

  bool Serves(double quotient, double zero, double x) const {
    const DType type = problem_.inputs[data_].dtype;
    if (!formula::HasBits(quotient, bits_) || !formula::HasBits(quotient - zero, bits_) || !Holds(type, x))
      return false;
    if (away_ && quotient * (quotient - zero) < 0) return false;  // away from which zero follows from when it is added
    const bool is_tiny = IsFloat(out_) && std::fabs(quotient) < FormatOf(out_).MinNormal();
    return !flushes_ || (!is_tiny && (!IsFloat(type) || std::fabs(x) >= FormatOf(type).MinNormal()));
  }

  const formula::Graph& graph_;
  const Problem& problem_;
  DType out_;
  bool flushes_, away_, divides_;
  int bits_;
  double zero_;  // of the case, beside that of an operand
  double lowest_ = 0;
  size_t data_ = 0, scale_ = 0;
  std::optional<size_t> zero_point_;
  std::vector<double> ties_, beyond_;
};

}  // namespace

std::optional<Twin> FormulaOperator::MakeRoundingTwin(const Problem& problem, size_t output,
                                                      const Contract& contract) const {
  const Definition definition = DefinitionOf(problem, output);
  const bool is_exact = (contract.math_ulp <= 1 || !Divides(definition)) && contract.RoundsToNearest();
  if (!is_exact || contract.in == InputRounding::kFP8 || contract.alg != Algorithm::kDirect) return std::nullopt;
  const DType out = problem.outputs[output].dtype;
  // Golden value for zeros before the output is quantised.
  std::vector<Tensor> none;
  for (const Operand& input : problem.inputs) {
    none.emplace_back(input.dtype, input.shape);
    const double value = definition.roles()[none.size() - 1] == Role::kScale ? 1 : 0;
    none.back().SetDoubles(std::vector<double>(static_cast<size_t>(none.back().size()), value));
  }
  const double zero = ComputeGolden(problem, output, none, Tier::kFast).value.at(0);
  Twin twin;
  twin.inputs = RoundingTwin(definition, problem, out, contract, zero).Inputs();
  twin.expected = ComputeGolden(problem, output, twin.inputs, Tier::kFast).value;
  for (double& y : twin.expected) y = RoundToNearest(out, contract, y);
  twin.code = DescribeTies("results lie beyond the ends of the output, or", contract);
  return twin;
}

}  // namespace assay
