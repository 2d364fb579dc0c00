// SPDX-License-Identifier: Apache-2.0
// Softmax with terms lost, wrong maxima, coarse exponentials, or rows mixed up.
#include "tests/faults/corpus/exponentials.h"
#include "tests/faults/corpus/softmax_plan.h"

namespace corpus {
namespace softmax_faults {

using plugin::BF16;
using plugin::F16;
using Shape = const SoftmaxShape&;
template <class T>
using Row = RowFacts<T>;
template <class T>
using Terms = std::vector<T>;

// Facts whose exponentials and running sums are replaced.
template <class T, T (*kExponential)(T, T), T (*kRound)(T)>
Row<T> FactsWith(const Terms<T>& x) {
  Row<T> row{MaxOf(x), 0};
  for (T term : x) row.sum = kRound(row.sum + kExponential(term, row.max));
  return row;
}
template <class T>
T Same(T x) {
  return x;
}
template <class T>
T ExponentialToF16(T x, T max) {
  return RoundedTo<F16>(std::exp(x - max));
}
template <class T, T (*kExponential)(T, T)>
T ProbabilityWith(T x, const Row<T>& row) {
  return kExponential(x, row.max) / row.sum;
}
template <class T, T (*kReciprocal)(T)>
T ProbabilityBy(T x, const Row<T>& row) {
  return std::exp(x - row.max) * kReciprocal(row.sum);
}
// Another exponential in the sum and the results.
template <class T, T (*kExponential)(T, T)>
SoftmaxKernel<T> KernelWith() {
  return {.facts = FactsWith<T, kExponential, Same<T>>, .probability = ProbabilityWith<T, kExponential>};
}

// Online in tiles of 16; the sum is not rescaled when the second tile raises the maximum, or by a bf16 factor.
template <class T, T (*kFactor)(T), bool kForgets>
Row<T> OnlineWith(const Terms<T>& x) {
  Row<T> row{-std::numeric_limits<T>::infinity(), 0};
  for (size_t first = 0; first < x.size(); first += 16) {
    const size_t last = std::min(x.size(), first + 16);
    T max = row.max;
    for (size_t i = first; i < last; ++i) max = LargerOrNan(max, x[i]);
    if (max == -std::numeric_limits<T>::infinity()) continue;
    const bool forgotten = kForgets && first == 16;
    if (first > 0 && !forgotten) row.sum *= kFactor(std::exp(row.max - max));
    for (size_t i = first; i < last; ++i) row.sum += std::exp(x[i] - max);
    row.max = max;
  }
  return row;
}

// Where each bug can strike.
constexpr auto kSeveral = [](Shape s) { return s.terms > 1; };
constexpr auto kProbabilities = [](Shape s) { return s.terms > 1 && !s.log; };
constexpr auto kLogarithms = [](Shape s) { return s.terms > 1 && s.log; };
constexpr auto kSeveralRows = [](Shape s) { return s.terms > 1 && s.rows > 1; };
constexpr auto kTiles = [](Shape s) { return s.terms > 16; };
constexpr auto kUnaligned = [](Shape s) { return s.terms > 1 && s.terms % 16 != 0; };
constexpr auto kWiderThanBF16 = [](Shape s) { return s.type != plugin::kBF16; };
constexpr auto kWiderThanF16 = [](Shape s) { return s.type != plugin::kF16 && s.type != plugin::kBF16; };

template <class T>
void Sums(SoftmaxEdits<T>& of) {
  of("fault.sum-misses-tail", kSeveral).facts = [](const Terms<T>& x) {
    Row<T> row{MaxOf(x), 0};
    for (size_t i = 0; i < std::max<size_t>(1, (x.size() - 1) / 8 * 8); ++i) row.sum += std::exp(x[i] - row.max);
    return row;
  };
  of("fault.last-term-dropped", kSeveral).facts = [](const Terms<T>& x) {
    return Row<T>{MaxOf(x), TwoPasses(x).sum - std::exp(x.back() - MaxOf(x))};
  };
  // The row padded by zeros to a multiple of 16.
  of("fault.padding-leaks", kUnaligned).facts = [](Terms<T> x) {
    x.resize((x.size() + 15) / 16 * 16, T{0});
    return TwoPasses(x);
  };
  of("fault.sum-in-f16", kSeveral).facts = FactsWith<T, ExponentialFrom<T>, RoundedTo<F16, T>>;
  of("fault.sum-in-bf16", kSeveral).facts = FactsWith<T, ExponentialFrom<T>, RoundedTo<BF16, T>>;
  of("fault.rescale-forgotten-once", kTiles).facts = OnlineWith<T, Same<T>, true>;
  of("fault.rescale-in-bf16", kTiles).facts = OnlineWith<T, RoundedTo<BF16, T>, false>;
  SoftmaxKernel<T>& no_maximum = of("fault.no-maximum-subtracted", kSeveral);
  no_maximum.probability = ProbabilityWith<T, ExponentialInF32Range<T>>;
  no_maximum.facts = [](const Terms<T>& x) {
    Row<T> row;
    for (T term : x) row.sum += ExponentialInF32Range(term, T{0});
    return row;
  };
  SoftmaxKernel<T>& first_tile = of("fault.maximum-of-first-tile", kTiles);
  first_tile.probability = ProbabilityWith<T, ExponentialInF32Range<T>>;
  first_tile.facts = [](const Terms<T>& x) {
    Row<T> row{MaxOf(Terms<T>(x.begin(), x.begin() + std::min<std::ptrdiff_t>(16, std::ssize(x)))), 0};
    for (T term : x) row.sum += ExponentialInF32Range(term, row.max);
    return row;
  };
}

template <class T>
void Functions(SoftmaxEdits<T>& of) {
  of("fault.exp-to-bf16", kProbabilities).probability = ProbabilityWith<T, ExponentialToBF16<T>>;
  of("fault.exp-to-f16", kProbabilities) = KernelWith<T, ExponentialToF16<T>>();
  of("fault.exp2-without-log2e", kSeveral) = KernelWith<T, ExponentialOfTwo<T>>();
  of("fault.ln2-in-one-part", kSeveral) = KernelWith<T, ExponentialOfShortLn2<T>>();
  of("fault.log2e-is-1.4427", kProbabilities) = KernelWith<T, ExponentialOfFiveDigits<T>>();
  of("fault.exp-by-five-taylor-terms", kProbabilities) = KernelWith<T, ExponentialOfDegree5<T>>();
  of("fault.log-sum-with-log2e-of-1.4427", kLogarithms).facts = FactsWith<T, ExponentialOfFiveDigits<T>, Same<T>>;
  of("fault.exp-of-12-bits", kLogarithms).facts = FactsWith<T, ExponentialOf12Bits<T>, Same<T>>;
  of("fault.not-divided", kProbabilities).probability = [](T x, const Row<T>& r) { return std::exp(x - r.max); };
  of("fault.reciprocal-in-f16", kProbabilities).probability = [](T x, const Row<T>& r) {
    return std::exp(x - r.max) * RoundedTo<F16>(T{1} / r.sum);
  };
  of("fault.reciprocal-in-bf16", kProbabilities).probability = [](T x, const Row<T>& r) {
    return std::exp(x - r.max) * RoundedTo<BF16>(T{1} / r.sum);
  };
  of("fault.reciprocal-estimated", kProbabilities).probability = ProbabilityBy<T, ReciprocalOf12Bits<T>>;
  of("fault.reciprocal-of-16-bits", kProbabilities).probability = ProbabilityBy<T, ReciprocalOfBits<16, T>>;
  of("fault.epsilon-in-denominator", kProbabilities).probability = ProbabilityBy<T, ReciprocalWithEpsilon<T>>;
}

template <class T>
void Elements(SoftmaxEdits<T>& of) {
  of("fault.log-missing", kLogarithms).logarithm = Probability<T>;
  of("fault.sum-not-logged", kLogarithms).logarithm = [](T x, const Row<T>& r) { return x - r.max - r.sum; };
  of("fault.log-in-base-2", kLogarithms).logarithm = [](T x, const Row<T>& r) { return x - r.max - std::log2(r.sum); };
  of("fault.log-in-bf16", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return x - r.max - RoundedTo<BF16>(std::log(r.sum));
  };
  // -inf where the probability has underflown in f16.
  of("fault.log-of-f16-probability", kLogarithms).logarithm = [](T x, const Row<T>& r) {
    return std::log(RoundedTo<F16>(Probability(x, r)));
  };
  of("fault.log-forgets-maximum", kLogarithms).logarithm = [](T x, const Row<T>& r) { return x - std::log(r.sum); };
  // Row and term change places where inner is 1, neighbours along the other axis where it is not.
  of("fault.wrong-axis", kSeveralRows).at = [](Shape s, int64_t row, int64_t k) {
    return s.inner == 1 ? k * s.rows + row : row * s.terms + k;
  };
  of("fault.operands-in-bf16", kWiderThanBF16).cast = RoundedTo<BF16, T>;
  of("fault.operands-in-f16", kWiderThanF16).cast = RoundedTo<F16, T>;
}

constexpr IoBug kLastElement[] = {{"fault.last-element-unwritten", kOutput, kFlat, Last(), Strike::kUnwritten}};

template <class T>
class LastRowUnwritten : public SoftmaxPlan<T> {
 public:
  using SoftmaxPlan<T>::SoftmaxPlan;

 private:
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
    const SoftmaxShape s = SoftmaxShapeOf(this->op());
    for (int64_t k = 0; k < s.terms; ++k) y.LeaveUnwritten(s.At(s.rows - 1, k));
  }
};

}  // namespace softmax_faults

std::vector<Entry> SoftmaxFaults() {
  using namespace softmax_faults;
  return Joined({SoftmaxRows<LastRowUnwritten>([](auto& of) { of("fault.last-row-unwritten"); }),
                 SoftmaxIoBugs(kLastElement), SoftmaxRows([](auto& of) { Sums(of), Functions(of), Elements(of); })});
}

}  // namespace corpus
