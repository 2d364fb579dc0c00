// SPDX-License-Identifier: Apache-2.0
// Softmax with terms lost, wrong maxima, coarse exponentials, or rows mixed up.
#include "tests/faults/corpus/exponentials.h"
#include "tests/faults/corpus/softmax_plan.h"

namespace corpus {
namespace softmax_faults {

using plugin::BF16;
using plugin::F16;

// Facts whose exponentials, running sums and kept terms are replaced.
template <class T, T (*kExponential)(T, T), T (*kRound)(T), int kTail>
RowFacts<T> FactsWith(const std::vector<T>& x) {
  const size_t kept = kTail == 0 ? x.size() : std::max<size_t>(1, (x.size() - 1) / kTail * kTail);
  RowFacts<T> row{MaxOf(x), 0};
  for (size_t i = 0; i < kept; ++i) row.sum = kRound(row.sum + kExponential(x[i], row.max));
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
T ProbabilityWith(T x, const RowFacts<T>& row) {
  return kExponential(x, row.max) / row.sum;
}

template <class T>
RowFacts<T> NoMaximum(const std::vector<T>& x) {
  RowFacts<T> row;
  for (T term : x) row.sum += ExponentialInF32Range(term, T{0});
  return row;
}

template <class T>
RowFacts<T> MaximumOfFirstTile(const std::vector<T>& x) {
  RowFacts<T> row{MaxOf(std::vector<T>(x.begin(), x.begin() + std::min<std::ptrdiff_t>(16, std::ssize(x)))), 0};
  for (T term : x) row.sum += ExponentialInF32Range(term, row.max);
  return row;
}

template <class T>
RowFacts<T> LastTermDropped(const std::vector<T>& x) {
  return {MaxOf(x), TwoPasses(x).sum - std::exp(x.back() - MaxOf(x))};
}

// The row padded by zeros to a multiple of 16.
template <class T>
RowFacts<T> PaddingLeaks(const std::vector<T>& x) {
  std::vector<T> padded = x;
  padded.resize((x.size() + 15) / 16 * 16, T{0});
  return TwoPasses(padded);
}

// Online in tiles of 16; the sum is not rescaled when the second tile raises the maximum, or by a bf16 factor.
template <class T, T (*kFactor)(T), bool kForgets>
RowFacts<T> OnlineWith(const std::vector<T>& x) {
  RowFacts<T> row{-std::numeric_limits<T>::infinity(), 0};
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

template <class T>
T NotDivided(T x, const RowFacts<T>& row) {
  return std::exp(x - row.max);
}
template <class T>
T ReciprocalInF16(T x, const RowFacts<T>& row) {
  return std::exp(x - row.max) * RoundedTo<F16>(T{1} / row.sum);
}
template <class T>
T ReciprocalInBF16(T x, const RowFacts<T>& row) {
  return std::exp(x - row.max) * RoundedTo<BF16>(T{1} / row.sum);
}
template <class T, T (*kReciprocal)(T)>
T ProbabilityBy(T x, const RowFacts<T>& row) {
  return std::exp(x - row.max) * kReciprocal(row.sum);
}
template <class T>
T SumNotLogged(T x, const RowFacts<T>& row) {
  return x - row.max - row.sum;
}
template <class T>
T LogInBF16(T x, const RowFacts<T>& row) {
  return x - row.max - RoundedTo<BF16>(std::log(row.sum));
}
template <class T>
T LogInBase2(T x, const RowFacts<T>& row) {
  return x - row.max - std::log2(row.sum);
}
// -inf where the probability has underflown in f16.
template <class T>
T LogOfProbability(T x, const RowFacts<T>& row) {
  return std::log(RoundedTo<F16>(Probability(x, row)));
}

template <class T>
T MaximumNotAdded(T x, const RowFacts<T>& row) {
  return x - std::log(row.sum);
}

// Row and term change places where inner is 1, neighbours along the other axis where it is not.
int64_t OtherAxis(const SoftmaxShape& s, int64_t row, int64_t k) {
  return s.inner == 1 ? k * s.rows + row : row * s.terms + k;
}

template <class Test>
std::string When(Description op, Test test, const char* otherwise) {
  const std::string reason = SoftmaxWhyNot(op);
  return !reason.empty() ? reason : test(SoftmaxShapeOf(op)) ? "" : otherwise;
}
std::string Several(Description op) {
  return When(
      op, [](const auto& s) { return s.terms > 1; }, "this needs several terms");
}
std::string Probabilities(Description op) {
  return When(
      op, [](const auto& s) { return s.terms > 1 && !s.log; }, "this needs log=0 and several terms");
}
std::string Logarithms(Description op) {
  return When(
      op, [](const auto& s) { return s.terms > 1 && s.log; }, "this needs log=1 and several terms");
}
std::string SeveralRows(Description op) {
  return When(
      op, [](const auto& s) { return s.terms > 1 && s.rows > 1; }, "this needs several rows of several terms");
}
std::string Tiles(Description op) {
  return When(
      op, [](const auto& s) { return s.terms > 16; }, "this needs two tiles of 16 terms");
}
std::string Unaligned(Description op) {
  return When(
      op, [](const auto& s) { return s.terms > 1 && s.terms % 16 != 0; }, "this needs an end within a tile");
}
std::string WiderThanBF16(Description op) {
  return When(
      op, [](const auto& s) { return s.type != plugin::kBF16; }, "the operands are that narrow anyway");
}
std::string WiderThanF16(Description op) {
  return When(
      op, [](const auto& s) { return s.type != plugin::kF16 && s.type != plugin::kBF16; },
      "the operands have few enough bits");
}

template <class T>
class LastRowUnwritten : public SoftmaxPlan<T> {
 public:
  using SoftmaxPlan<T>::SoftmaxPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    for (int64_t k = 0; k < this->shape().terms; ++k) {
      y.LeaveUnwritten(this->shape().At(this->shape().rows - 1, k));
    }
  }
};

template <class T>
class LastElementUnwritten : public SoftmaxPlan<T> {
 public:
  using SoftmaxPlan<T>::SoftmaxPlan;

 private:
  void Finish(DenseOutput<T>& y) override { y.LeaveUnwritten(std::ssize(y.values) - 1); }
};

template <template <class> class Plan>
Entry OfPlan(const char* name) {
  return {"softmax", name, SoftmaxContract, SoftmaxWhyNot, [](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<Plan<T>>(op, exact, SoftmaxKernel<T>{});
            });
          }};
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return SoftmaxEntry(name, SoftmaxContract, why_not, make);
}

std::vector<Entry> SumFaults() {
  return {
      Fault("fault.sum-misses-tail", Several,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialFrom<T>, Same<T>, 8>};
            }),
      Fault("fault.last-term-dropped", Several,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.facts = LastTermDropped<T>}; }),
      Fault("fault.padding-leaks", Unaligned,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.facts = PaddingLeaks<T>}; }),
      Fault("fault.sum-in-f16", Several,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialFrom<T>, RoundedTo<F16, T>, 0>};
            }),
      Fault("fault.sum-in-bf16", Several,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialFrom<T>, RoundedTo<BF16, T>, 0>};
            }),
      Fault("fault.rescale-forgotten-once", Tiles,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.facts = OnlineWith<T, Same<T>, true>}; }),
      Fault("fault.rescale-in-bf16", Tiles,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = OnlineWith<T, RoundedTo<BF16, T>, false>};
            }),
      Fault("fault.no-maximum-subtracted", Several,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = NoMaximum<T>,
                                      .probability = ProbabilityWith<T, ExponentialInF32Range<T>>};
            }),
      Fault("fault.maximum-of-first-tile", Tiles,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = MaximumOfFirstTile<T>,
                                      .probability = ProbabilityWith<T, ExponentialInF32Range<T>>};
            }),
  };
}

std::vector<Entry> ExponentialFaults() {
  return {
      Fault("fault.exp-to-bf16", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.probability = ProbabilityWith<T, ExponentialToBF16<T>>};
            }),
      Fault("fault.exp-to-f16", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialToF16<T>, Same<T>, 0>,
                                      .probability = ProbabilityWith<T, ExponentialToF16<T>>};
            }),
      Fault("fault.exp2-without-log2e", Several,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialOfTwo<T>, Same<T>, 0>,
                                      .probability = ProbabilityWith<T, ExponentialOfTwo<T>>};
            }),
  };
}

std::vector<Entry> QuotientFaults() {
  return {
      Fault("fault.not-divided", Probabilities,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.probability = NotDivided<T>}; }),
      Fault("fault.reciprocal-in-f16", Probabilities,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.probability = ReciprocalInF16<T>}; }),
      Fault("fault.reciprocal-in-bf16", Probabilities,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.probability = ReciprocalInBF16<T>}; }),
      Fault("fault.reciprocal-estimated", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.probability = ProbabilityBy<T, ReciprocalOf12Bits<T>>};
            }),
      Fault("fault.reciprocal-of-16-bits", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.probability = ProbabilityBy<T, ReciprocalOfBits<16, T>>};
            }),
      Fault("fault.epsilon-in-denominator", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.probability = ProbabilityBy<T, ReciprocalWithEpsilon<T>>};
            }),
  };
}

// Exponentials by too few terms or digits.
std::vector<Entry> CoarseExponentialFaults() {
  return {
      Fault("fault.ln2-in-one-part", Several,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialOfShortLn2<T>, Same<T>, 0>,
                                      .probability = ProbabilityWith<T, ExponentialOfShortLn2<T>>};
            }),
      Fault("fault.log-sum-with-log2e-of-1.4427", Logarithms,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialOfFiveDigits<T>, Same<T>, 0>};
            }),
      Fault("fault.log2e-is-1.4427", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialOfFiveDigits<T>, Same<T>, 0>,
                                      .probability = ProbabilityWith<T, ExponentialOfFiveDigits<T>>};
            }),
      Fault("fault.exp-by-five-taylor-terms", Probabilities,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialOfDegree5<T>, Same<T>, 0>,
                                      .probability = ProbabilityWith<T, ExponentialOfDegree5<T>>};
            }),
      Fault("fault.exp-of-12-bits", Logarithms,
            []<class T>(std::type_identity<T>) {
              return SoftmaxKernel<T>{.facts = FactsWith<T, ExponentialOf12Bits<T>, Same<T>, 0>};
            }),
  };
}

std::vector<Entry> ElementFaults() {
  return {
      Fault("fault.log-missing", Logarithms,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = Probability<T>}; }),
      Fault("fault.sum-not-logged", Logarithms,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = SumNotLogged<T>}; }),
      Fault("fault.log-in-base-2", Logarithms,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = LogInBase2<T>}; }),
      Fault("fault.log-in-bf16", Logarithms,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = LogInBF16<T>}; }),
      Fault("fault.log-of-f16-probability", Logarithms,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = LogOfProbability<T>}; }),
      Fault("fault.log-forgets-maximum", Logarithms,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.logarithm = MaximumNotAdded<T>}; }),
      Fault("fault.wrong-axis", SeveralRows,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.at = OtherAxis}; }),
      Fault("fault.operands-in-bf16", WiderThanBF16,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.cast = RoundedTo<BF16, T>}; }),
      Fault("fault.operands-in-f16", WiderThanF16,
            []<class T>(std::type_identity<T>) { return SoftmaxKernel<T>{.cast = RoundedTo<F16, T>}; }),
  };
}

}  // namespace softmax_faults

std::vector<Entry> SoftmaxFaults() {
  using namespace softmax_faults;
  std::vector<Entry> all = {OfPlan<LastRowUnwritten>("fault.last-row-unwritten"),
                            OfPlan<LastElementUnwritten>("fault.last-element-unwritten")};
  for (const auto& list :
       {SumFaults(), ExponentialFaults(), QuotientFaults(), CoarseExponentialFaults(), ElementFaults()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace corpus
