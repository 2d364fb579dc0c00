// SPDX-License-Identifier: Apache-2.0
// MutationPower on a small operator: y[m] = sum over k of a[m,k], f32 accumulator.
#include "harness/judge/mutation_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace assay {
namespace {

class RowSum : public Operator {
 public:
  const OpSchema& schema() const override { return schema_; }
  Result<Problem> Bind(const CaseSpec&) const override { return Problem{}; }
  std::vector<Tensor> MakeInputs(const Problem&) const override { return {}; }
  Golden ComputeGolden(const Problem&, size_t /*output*/, std::span<const Tensor>, Tier) const override { return {}; }
  BoundModel Bound(const Problem&, size_t /*output*/, const Golden&, const Contract&) const override { return {}; }
  std::optional<Twin> MakeTwin(const Problem&, size_t /*output*/, const Contract&, int) const override {
    return std::nullopt;
  }
  std::vector<Mutant> OmittedTerms(const Problem&, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> outputs) const override {
    const int64_t terms = inputs[0].shape()[1];
    const std::vector<double> a = inputs[0].ToDoubles();
    std::vector<Mutant> mutants;
    for (const int64_t row : outputs) {
      for (const int64_t k : {int64_t{0}, terms - 1}) {
        mutants.push_back({row, values[static_cast<size_t>(row)] - a[static_cast<size_t>(row * terms + k)]});
      }
    }
    return mutants;
  }
  ProblemTraits TraitsOf(const Problem&, size_t /*output*/) const override {
    return {.largest_integer_sum = largest_integer_sum};
  }

  std::vector<std::vector<double>> SummedTerms(const Problem&, size_t /*output*/, std::span<const Tensor>,
                                               const Contract&, int64_t) const override {
    return {std::vector<double>(static_cast<size_t>(longest_sum))};
  }

  double largest_integer_sum = 0;
  int64_t longest_sum = 0;

 private:
  OpSchema schema_;
};

struct RowSumCase {
  // term(m, k) of a rows x terms input; the bound permits `coefficient` times the sum of magnitudes.
  template <class Term>
  RowSumCase(int64_t rows, int64_t terms, double coefficient, const Term& term) {
    inputs.emplace_back(DType::kF32, Shape{rows, terms});
    golden.shape = {rows};
    golden.value.resize(static_cast<size_t>(rows));
    golden.magnitude = golden.error = Plane(rows, false);
    std::vector<double> a;
    for (int64_t m = 0; m < rows; ++m) {
      double magnitude = 0;
      for (int64_t k = 0; k < terms; ++k) {
        a.push_back(term(m, k));
        golden.value[static_cast<size_t>(m)] += a.back();
        magnitude += std::abs(a.back());
      }
      golden.magnitude.Set(m, magnitude);
    }
    inputs[0].SetDoubles(a);
    problem.outputs = {{"y", DType::kF32, {rows}}};
    bound.terms = {{&golden.magnitude, coefficient}};
    bound.u_out = 0x1p-24;
    bound.overflow_at = 0x1p128;
    bound.partial_overflow_at = 0x1p128;
  }
  RowSumCase(const RowSumCase&) = delete;

  Twin AsTwin() {
    Twin twin;
    twin.inputs.push_back(inputs[0].Clone());
    twin.expected = golden.value;
    return twin;
  }
  MutationPower Measure(std::span<const Twin> twins = {}) const {
    RowSum op;
    op.longest_sum = longest_sum;
    return MeasureMutationPower(op, problem, 0, inputs, golden, bound, Contract{}, twins);
  }

  Problem problem;
  std::vector<Tensor> inputs;
  Golden golden;
  BoundModel bound;
  int64_t longest_sum = 0;  // 0: not known
};

double Distinct(int64_t m, int64_t k) {
  return static_cast<double>(1 + m + k);
}

TEST(MutationPower, TightBoundCatchesEverything) {
  const MutationPower power = RowSumCase(40, 8, 1e-6, Distinct).Measure();
  EXPECT_EQ(power.power, 1);
  EXPECT_EQ(power.whole_total, 3);
  EXPECT_EQ(power.omitted_total, 80);
  EXPECT_EQ(power.missed, "");
}

TEST(MutationPower, ZeroWithinTheBoundIsMissed) {
  // Terms cancel to less than the bound: an output of zeros would pass.
  const RowSumCase c(40, 2, 0.01, [](int64_t, int64_t k) { return k == 0 ? 1.001 : -1; });
  const MutationPower power = c.Measure();
  EXPECT_NEAR(power.power, 1.0 / 3, 1e-12);  // only the sentinel is caught; the mean passes as well
  EXPECT_EQ(power.missed, "an output of zeros");
}

TEST(MutationPower, BlindToZerosButNotToAConstantOrAMissingTerm) {
  EXPECT_EQ(RowSumCase(40, 8, 1e-6, Distinct).Measure().DescribeMissedFaults(), "");
  EXPECT_EQ(RowSumCase(40, 8, 1e-6, Distinct).Measure().blank_result, "");
  const RowSumCase cancels(40, 2, 0.01, [](int64_t, int64_t k) { return k == 0 ? 1.001 : -1; });
  EXPECT_EQ(cancels.Measure().DescribeMissedFaults(), "an output of zeros");
  // All outputs are equal, and single terms are below the bound.
  const RowSumCase constant(40, 1000, 0.01, [](int64_t, int64_t) { return 1.0; });
  EXPECT_EQ(constant.Measure().power, 0);
  EXPECT_EQ(constant.Measure().DescribeMissedFaults(), "");
  EXPECT_EQ(constant.Measure().blank_result, "a constant output at the mean");
  // Three of four rows cancel.
  const auto mostly = [](int64_t m, int64_t k) { return k == 0 ? 1.001 : m % 4 == 0 ? 1.0 : -1.0; };
  EXPECT_EQ(RowSumCase(40, 2, 0.01, mostly).Measure().DescribeMissedFaults(), "a zero in place of 30 of 40 results");
}

TEST(MutationPower, NanThatMayFollowFromOverflowTellsNothing) {
  RowSumCase c(40, 8, 1e-6, Distinct);
  c.bound.partial_overflow_at = 1;  // all sums reach it
  const MutationPower power = c.Measure();
  EXPECT_EQ(power.DescribeMissedFaults(), "an output of NaN");
  EXPECT_EQ(power.missed, "an output of NaN");
  EXPECT_NEAR(power.power, 2.0 / 3, 1e-12);
  EXPECT_EQ(power.overflowing, 40);
  EXPECT_EQ(power.sampled, 40);
  c.bound.partial_signs = PartialSigns::kOfTerms;
  EXPECT_EQ(c.Measure().DescribeMissedFaults(), "") << "terms of one sign make infinities alone";
  EXPECT_EQ(c.Measure().power, 1);
  std::ranges::fill(c.golden.value, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(c.Measure().DescribeMissedFaults(), "") << "NaN is the result";
}

// Two outputs of 40 for which nothing is promised, be it by the operator's rules or by an infinite bound.
TEST(MutationPower, OutputsThatAcceptAnythingCountAgainstTheCase) {
  RowSumCase c(40, 8, 1e-6, Distinct);
  Admit(c.bound, c.golden.size(), 3, kAnything);
  c.golden.error.Set(5, std::numeric_limits<double>::infinity());
  const MutationPower power = c.Measure();
  EXPECT_EQ(power.unbounded, 2);
  EXPECT_NEAR(power.power, 0.95, 1e-12);
  EXPECT_NE(power.missed, "");
  RowSumCase coded(40, 8, 0, Distinct);
  std::vector<Twin> twins;
  twins.push_back(coded.AsTwin());
  EXPECT_EQ(c.Measure(twins).power, 1) << "the twin tests those outputs";
  EXPECT_EQ(c.Measure(twins).unbounded, 2);
}

// Two terms of each row are left out in turn: those that leave an infinity or a NaN as it is show nothing.
TEST(MutationPower, TermsThatChangeNoInfinityAreNoFaults) {
  RowSumCase c(40, 8, 1e-6, Distinct);
  c.golden.value[3] = -std::numeric_limits<double>::infinity();
  c.golden.value[5] = std::numeric_limits<double>::quiet_NaN();
  const MutationPower power = c.Measure();
  EXPECT_EQ(power.omitted_total, 76);
  EXPECT_EQ(power.omitted_caught, 76);
  EXPECT_EQ(power.power, 1);
}

// A complex element is one output, whichever of its parts accepts anything.
TEST(MutationPower, PartsOfAComplexOutputCountOnce) {
  RowSumCase c(40, 8, 1e-6, Distinct);
  c.problem.outputs[0].dtype = DType::kC64;
  for (const int64_t part : {6, 7, 11}) Admit(c.bound, c.golden.size(), part, kAnything);
  const MutationPower power = c.Measure();
  EXPECT_EQ(power.unbounded, 2);
  EXPECT_NEAR(power.power, 0.9, 1e-12);
}

// The samples see one of four outputs, but a promise is missing for each.
TEST(MutationPower, UnboundedOutputsBetweenTheSamplesCountAsWell) {
  RowSumCase c(1024, 2, 1e-6, Distinct);
  const std::vector<int64_t> sampled = SampleOutputs(1024);
  for (int64_t i = 0; i < 1024; ++i) {
    if (!std::ranges::binary_search(sampled, i)) Admit(c.bound, c.golden.size(), i, kAnything);
  }
  const MutationPower power = c.Measure();
  EXPECT_EQ(power.omitted_caught, power.omitted_total);
  EXPECT_EQ(power.power, 0.25);
  EXPECT_EQ(power.missed, "any result of 768 of 1024 outputs, for which the contract bounds nothing");
}

TEST(MutationPower, TwinMakesUpForTheMainData) {
  const RowSumCase c(40, 2, 0.01, [](int64_t, int64_t k) { return k == 0 ? 1.001 : -1; });
  RowSumCase coded(40, 2, 0, Distinct);
  std::vector<Twin> twins;
  twins.push_back(coded.AsTwin());
  EXPECT_EQ(c.Measure(twins).power, 1);
}

// A kernel that declares acc=i32 and keeps its sums in f32 is exact below 2^24; only data beyond tell.
TEST(MutationPower, IntegerSumsInFloatAreSeenBeyondWhatFloatHolds) {
  RowSumCase c(40, 2, 0, Distinct);
  c.bound.exact = true;
  c.problem.outputs[0].dtype = DType::kI32;
  Contract i32;
  i32.acc = Accumulator::kI32;
  RowSum op;
  const auto measure = [&](const Contract& contract, std::span<const Twin> twins) {
    return MeasureMutationPower(op, c.problem, 0, c.inputs, c.golden, c.bound, contract, twins);
  };
  EXPECT_EQ(measure(i32, {}).power, 1) << "no sum of integers";
  op.largest_integer_sum = 0x1p24;
  EXPECT_EQ(measure(i32, {}).whole_total, 3) << "f32 holds all of them";
  op.largest_integer_sum = 0x1p24 + 1;
  EXPECT_EQ(measure(i32, {}).power, 0.75);
  EXPECT_THAT(measure(i32, {}).missed, testing::HasSubstr("integer sums kept in f32"));
  EXPECT_EQ(measure(Contract{}, {}).power, 1) << "declared";
  std::vector<Twin> twins;
  twins.push_back(c.AsTwin());
  EXPECT_EQ(measure(i32, twins).power, 0.75) << "small sums";
  twins[0].expected[7] = 0x1p24 + 1;
  EXPECT_EQ(measure(i32, twins).power, 1);
  c.golden.value[3] = 0x1p24 + 3;
  EXPECT_EQ(measure(i32, {}).power, 1) << "the case's own data tell";
}

TEST(MutationPower, OmittedTermsBelowTheBoundAreMissed) {
  // The last term is smaller than the bound in every row; the first is not.
  const RowSumCase c(40, 4, 1e-3, [](int64_t m, int64_t k) { return k == 3 ? 1e-5 : 1.0 + static_cast<double>(m); });
  const MutationPower power = c.Measure();
  EXPECT_EQ(power.whole_caught, 3);
  EXPECT_EQ(power.omitted_caught, 40);
  EXPECT_EQ(power.power, 0.5);
  EXPECT_THAT(power.missed, testing::HasSubstr("40 of 80 omitted terms, such as one of output [0]"));
}

TEST(MutationPower, VisibleFaultsAreNoticedByATightBound) {
  const MutationPower power = RowSumCase(40, 8, 1e-6, Distinct).Measure();
  EXPECT_EQ(power.visible_total, 80);
  EXPECT_EQ(power.visible_noticed, 80);
}

// Where a twin runs with the case, it tells.
TEST(MutationPower, VisibleFaultsCountWithoutATwinAlone) {
  RowSumCase coded(40, 8, 0, Distinct);
  std::vector<Twin> twins;
  twins.push_back(coded.AsTwin());
  EXPECT_EQ(RowSumCase(40, 8, 1e-6, Distinct).Measure(twins).visible_total, 0);
}

TEST(MutationPower, TermsBelowAGapOfTheOutputAreNotVisible) {
  const RowSumCase c(2, 2, 0, [](int64_t m, int64_t k) { return k == 1 ? 1e-9 : 3.0 + static_cast<double>(m); });
  EXPECT_EQ(c.Measure().visible_total, 2);
  EXPECT_EQ(c.Measure().visible_noticed, 2);
}

// A hundredth of the mean term, which the bound notices, is no fault that a contract need notice.
TEST(MutationPower, TermsBelowTheMeanAreNotVisible) {
  RowSumCase c(40, 4, 1e-6, [](int64_t, int64_t k) { return k == 3 ? 0.01 : 1.0; });
  EXPECT_EQ(c.Measure().visible_total, 80) << "not known how many terms there are";
  c.longest_sum = 4;
  EXPECT_EQ(c.Measure().visible_total, 40);
  EXPECT_EQ(c.Measure().visible_noticed, 40);
}

// The bound of long sums lets a term of the mean size pass; deviations of random roundings do not.
TEST(MutationPower, VisibleFaultsAreNoticedByTheStatisticToo) {
  RowSumCase c(40, 40, 0.1, [](int64_t, int64_t) { return 1.0; });
  EXPECT_EQ(c.Measure().omitted_caught, 0);
  EXPECT_EQ(c.Measure().visible_total, 80);
  EXPECT_EQ(c.Measure().visible_noticed, 0);
  c.golden.sigma = Plane(c.golden.size(), false);
  for (int64_t i = 0; i < c.golden.size(); ++i) c.golden.sigma.Set(i, 1e3);
  EXPECT_EQ(c.Measure().visible_noticed, 80);
  for (int64_t i = 0; i < c.golden.size(); ++i) c.golden.sigma.Set(i, 1e7);
  EXPECT_EQ(c.Measure().visible_noticed, 0) << "two deviations";
  EXPECT_EQ(c.Measure().omitted_caught, 0) << "the statistic alone";
}

TEST(MutationPower, OmittedTermsAreRoundedBeforeTheyAreJudged) {
  // A term below half an ulp of the output leaves no trace, however tight the bound.
  const RowSumCase c(2, 2, 0, [](int64_t m, int64_t k) { return k == 1 ? 1e-9 : 3.0 + static_cast<double>(m); });
  EXPECT_EQ(c.Measure().omitted_caught, 2);
}

TEST(MutationPower, ExactGoldenCatchesAnyChange) {
  RowSumCase c(40, 2, 1e9, Distinct);
  c.bound.exact = true;
  EXPECT_EQ(c.Measure().power, 1);
}

TEST(MutationPower, TwinToleranceHidesSmallTerms) {
  const RowSumCase c(40, 2, 10, Distinct);
  RowSumCase coded(40, 2, 0, [](int64_t m, int64_t k) { return k == 1 ? 1.0 : 1 << (m % 8 + 4); });
  std::vector<Twin> twins;
  twins.push_back(coded.AsTwin());
  EXPECT_EQ(c.Measure(twins).power, 1);
  twins[0].tolerance_ulp = 0x1p23;
  EXPECT_LT(c.Measure(twins).power, 1);
}

TEST(MutationPower, SingleOutputIsItsOwnMean) {
  EXPECT_EQ(RowSumCase(1, 4, 1e-6, Distinct).Measure().whole_total, 2);
  EXPECT_EQ(RowSumCase(1, 4, 1e-6, Distinct).Measure().power, 1);
}

TEST(MutationPower, SamplesAreSpreadAndRepeatable) {
  EXPECT_EQ(SampleOutputs(3), (std::vector<int64_t>{0, 1, 2}));
  for (const int64_t n : {257L, 1000L, 1L << 20, 1L << 40}) {
    const std::vector<int64_t> s = SampleOutputs(n);
    ASSERT_EQ(s.size(), static_cast<size_t>(kMutationPowerSamples));
    EXPECT_EQ(s.front(), 0);
    EXPECT_EQ(s.back(), n - 1);
    EXPECT_TRUE(std::is_sorted(s.begin(), s.end()));
    EXPECT_EQ(std::adjacent_find(s.begin(), s.end()), s.end());
    EXPECT_EQ(s, SampleOutputs(n));
  }
  // Every column of a power-of-two width would be the same with an even step.
  std::vector<bool> columns(64);
  for (const int64_t i : SampleOutputs(1 << 20)) columns[static_cast<size_t>(i % 64)] = true;
  EXPECT_GT(std::count(columns.begin(), columns.end(), true), 48);
}

}  // namespace
}  // namespace assay
