// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/random_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kFewest = 256;         // elements of the operand that speaks for the others
constexpr int64_t kMostCompared = 4096;  // values, and pairs of neighbours for each distance
constexpr double kMostOfMean = 100;      // the largest square over the mean one
// Standard deviations that random data exceed with a chance of 4e-8; an operand has some 200 of these tests.
constexpr double kMostDeviations = 5.5;

// The step that leaves at most kMostCompared of n.
int64_t StepOver(int64_t n) {
  return (n + kMostCompared - 1) / kMostCompared;
}

int SignificantBits(double x) {
  int exponent = 0;
  double rest = std::frexp(std::fabs(x), &exponent);
  int bits = 0;
  for (; rest != 0; rest -= std::trunc(rest)) rest *= 2, ++bits;
  return bits;
}

// Sorted values from all over the operand.
std::vector<double> SampleOf(const std::vector<double>& values) {
  std::vector<double> sample;
  const int64_t n = std::ssize(values), step = StepOver(n);
  for (int64_t i = 0; i < n; i += step) sample.push_back(values[i]);
  std::ranges::sort(sample);
  return sample;
}

// Two values of a smooth density over a few binades are equal with a chance of some 2^-p, p their significant bits, or
// some times that where they lie around a number other than zero.
bool Repeats(const std::vector<double>& sorted) {
  int precision = 1;
  for (const double x : sorted) precision = std::max(precision, SignificantBits(x));
  double equal = 0, run = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    run = sorted[i] == sorted[i - 1] ? run + 1 : 0;
    equal += run;
  }
  const double n = static_cast<double>(sorted.size()), expected = n * (n - 1) / 2 * std::ldexp(1, 3 - precision);
  return equal > expected + kMostDeviations * std::sqrt(expected) + 4;
}

bool HasFewLarge(const std::vector<double>& values) {
  double largest = 0, sum = 0;
  for (const double x : values) largest = std::max(largest, x * x), sum += x * x;
  return largest * static_cast<double>(values.size()) > kMostOfMean * sum;
}

// Ranks from -1 to 1 in a sample, which is searched from where equal stretches of values begin in it.
class Ranks {
 public:
  explicit Ranks(const std::vector<double>& sorted) : sorted_(sorted), first_(sorted.size() + 2) {
    size_t stretch = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      for (; stretch <= StretchOf(sorted[i]); ++stretch) first_[stretch] = i;
    }
    for (; stretch < first_.size(); ++stretch) first_[stretch] = sorted.size();
  }
  double Of(double x) const {
    const size_t stretch = StretchOf(x);
    const std::span within(sorted_.data() + first_[stretch], sorted_.data() + first_[stretch + 1]);
    const auto [low, high] = std::ranges::equal_range(within, x);
    const size_t both = 2 * first_[stretch] + static_cast<size_t>((low - within.begin()) + (high - within.begin()));
    return static_cast<double>(both) / std::ssize(sorted_) - 1;
  }

 private:
  // Ascends with x.
  size_t StretchOf(double x) const {
    const double range = sorted_.back() - sorted_.front(), last = static_cast<double>(sorted_.size());
    const double at = (x - sorted_.front()) / range * last;
    return at > 0 ? static_cast<size_t>(std::min(at, last)) : 0;
  }

  const std::vector<double>& sorted_;
  std::vector<size_t> first_;  // of each stretch, and behind the last
};

// Whether values `distance` apart along an axis have related ranks, or ranks that are related in size.
bool Relates(const std::vector<double>& values, const Ranks& ranks, int64_t extent, int64_t inner, int64_t distance) {
  const int64_t width = (extent - distance) * inner, pairs = std::ssize(values) / (extent * inner) * width;
  const int64_t step = StepOver(pairs), step_within = step % width, step_first = step / width * extent * inner;
  double ranked = 0, ranked2 = 0, sized = 0, sized2 = 0, n = 0;
  int64_t first = 0, within = 0;  // of the pair: where its stretch of `extent` begins, and where in it
  for (int64_t pair = 0; pair < pairs; pair += step, ++n, first += step_first, within += step_within) {
    if (within >= width) within -= width, first += extent * inner;
    const int64_t i = first + within;
    const double a = ranks.Of(values[i]), b = ranks.Of(values[i + distance * inner]);
    const double size_a = std::fabs(a) - 0.5, size_b = std::fabs(b) - 0.5;
    ranked += a * b, ranked2 += a * a * b * b;
    sized += size_a * size_b, sized2 += size_a * size_a * size_b * size_b;
  }
  if (n < kFewestTold) return false;
  const auto is_large = [](double sum, double squares) {
    return sum * sum > kMostDeviations * kMostDeviations * squares;
  };
  return is_large(ranked, ranked2) || is_large(sized, sized2);
}

// A sum of terms in a narrower precision, which tells whether its rounding errors have a bias.
class RunningSum {
 public:
  explicit RunningSum(int precision) { format_.precision = precision; }
  void Add(double term) {
    // A double holds what f32 and narrower accumulators add; of wider ones its own rounding error is known exactly.
    const double whole = sum_ + term, back = whole - sum_, lost = (sum_ - (whole - back)) + (term - back);
    const double next = format_.precision < 53 ? RoundTo(format_, whole) : whole;
    error_ += format_.precision < 53 ? next - whole - lost : -lost;
    const double spacing = UlpAt(format_, next), size = std::fabs(term);
    squares_ += spacing * spacing;
    if (size > 0) smooth_ += std::min(size, spacing * spacing / (8 * size));
    sum_ = next;
  }
  // An error is as good as uniform over a spacing. Random terms that are hardly larger than that err to one side, too
  // (ops/lost_terms.h), which the statistic takes as systematic.
  bool IsBiased() const { return std::fabs(error_) > kMostDeviations * std::sqrt(squares_ / 12) + smooth_; }

 private:
  FloatFormat format_ = FormatOf(DType::kF64);
  double sum_ = 0, error_ = 0, squares_ = 0, smooth_ = 0;
};

// Whether running sums of the terms, forward or backward, are biased.
bool RoundsOneWay(const std::vector<double>& terms, int precision) {
  RunningSum forward(precision), backward(precision);
  for (size_t t = 0; t < terms.size(); ++t) {
    forward.Add(terms[t]), backward.Add(terms[terms.size() - 1 - t]);
  }
  return forward.IsBiased() || backward.IsBiased();
}

std::string ExplainAxisChoice(const std::vector<double>& values, const Ranks& ranks, const Shape& shape, size_t axis) {
  int64_t inner = 1;
  for (size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
  for (int64_t distance = 1; distance < shape[axis] && distance <= 1024; distance += distance < 16 ? 1 : distance) {
    if (!Relates(values, ranks, shape[axis], inner, distance)) continue;
    return fmt::format("elements {} apart along axis {} are related", distance, axis);
  }
  return "";
}

bool IsConstant(const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double x) { return x == values[0]; });
}

// Overload for the values of an operand.
std::string ExplainNotRandom(const Tensor& tensor, const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) return "it is not finite everywhere";
  const std::vector<double> sorted = SampleOf(values);
  if (Repeats(sorted)) return "values repeat";
  if (HasFewLarge(values)) return "few values are far larger than the others";
  Shape shape = tensor.shape();
  if (IsComplex(tensor.dtype())) shape.push_back(2);
  const Ranks ranks(sorted);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (const std::string why = ExplainAxisChoice(values, ranks, shape, axis); !why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string ExplainNotRandom(const Tensor& tensor) {
  return ExplainNotRandom(tensor, tensor.ToDoubles());
}

std::string ExplainNotRandom(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                             int64_t furthest, const Contract& contract) {
  int64_t told = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& input = inputs[k];
    if ((!IsFloat(input.dtype()) && !IsComplex(input.dtype())) || input.size() < kFewestTold) continue;
    const std::vector<double> values = input.ToDoubles();
    if (IsConstant(values)) continue;
    if (const std::string why = ExplainNotRandom(input, values); !why.empty()) {
      return fmt::format("{}: {}", problem.inputs[k].name, why);
    }
    told = std::max(told, input.size());
  }
  if (told < kFewest) return fmt::format("no operand has {} elements that differ", kFewest);
  if (furthest < 0) return "";
  const int precision = std::min(53, contract.AccExactBits());
  const std::vector<std::vector<double>> sums = op.SummedTerms(problem, output, inputs, contract, furthest);
  const auto rounds_one_way = [&](const std::vector<double>& terms) { return RoundsOneWay(terms, precision); };
  return std::ranges::any_of(sums, rounds_one_way) ? "the running sums of its worst element round to one side" : "";
}

int64_t CountLongestSum(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                        const Contract& contract, int64_t element) {
  size_t terms = 0;
  for (const auto& sum : op.SummedTerms(problem, output, inputs, contract, element))
    terms = std::max(terms, sum.size());
  return static_cast<int64_t>(terms);
}

}  // namespace assay
