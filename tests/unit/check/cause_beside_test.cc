// SPDX-License-Identifier: Apache-2.0
// A rounding that explains one result of a kernel is named only if it also makes the kernel's result on other data.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "harness/tools/explain/cause.h"
#include "harness/tools/explain/wrong_places.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

double ToBf16(double x) {
  return RoundTo(FormatOf(DType::kBF16), x);
}

// Sums of rows, formed of operands that `kernel` changes.
struct Sums {
  Sums(double (*datum)(int64_t), double (*kernel)(double)) {
    std::vector<double> values(static_cast<size_t>(NumElements(problem.inputs[0].shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = datum(static_cast<int64_t>(i));
    inputs.emplace_back(DType::kF32, problem.inputs[0].shape).SetDoubles(values);
    golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
    std::vector<double> sums(static_cast<size_t>(golden.size()));
    for (size_t i = 0; i < values.size(); ++i) sums[i * sums.size() / values.size()] += kernel(values[i]);
    got.emplace_back(DType::kF32, problem.outputs[0].shape).SetDoubles(sums);
  }
  WrongResult Result() const {
    return {.op = op,
            .problem = problem,
            .inputs = inputs,
            .got = got,
            .contract = contract,
            .golden = golden,
            .tier = Tier::kFast,
            .elements = {1, 9}};
  }

  const Operator& op = Op("reduce");
  const Problem problem = Bind("reduce/f32/shape=32x64,axes=1,kind=sum/fill=normal/seed=0");
  const Contract contract = Declared("f32acc");
  std::vector<Tensor> inputs, got;
  Golden golden;
};

double Noise(int64_t i) {
  return std::sin(static_cast<double>(i * i % 9973)) + 1.5;
}
double SmallInteger(int64_t i) {
  return static_cast<double>(i * i % 200);
}
double LargeInteger(int64_t i) {
  return static_cast<double>(4097 + i * i % 9000);
}
double Same(double x) {
  return x;
}

double MinusMagnitude(double x) {
  return -std::fabs(x);
}
double Alternating(int64_t i) {
  return static_cast<double>(i % 2 == 0 ? i % 50 : -(i % 31));
}

// Names what explains a kernel, beside what it, or another one, made of other data.
std::string NameBeside(const Sums& other, bool is_right, double (*kernel)(double) = ToBf16) {
  const Sums own(Noise, kernel);
  WrongResult beside = other.Result(), result = own.Result();
  beside.least_bits = 0, beside.is_exact = true, beside.is_right = is_right;
  const WrongPlaces places(beside);
  beside.places = &places, result.beside = &beside;
  SearchWork work(10);
  const std::vector<Cause> causes = FindCauses(result, work);
  return causes.empty() ? "" : DescribeCause(own.problem, causes[0], [](const CaseChange&) { return ""; });
}

TEST(CauseBeside, HoldsWhereOtherDataAreMadeLikewise) {
  EXPECT_EQ(NameBeside(Sums(LargeInteger, ToBf16), false), "the formula with x rounded to bf16");
  EXPECT_EQ(NameBeside(Sums(SmallInteger, Same), true), "the formula with x rounded to bf16");
}

TEST(CauseBeside, MayBeTwoPlacesOfTheFormula) {
  EXPECT_EQ(NameBeside(Sums(Alternating, MinusMagnitude), false, MinusMagnitude).substr(0, 12), "two mistakes");
  EXPECT_EQ(NameBeside(Sums(Alternating, ToBf16), false, MinusMagnitude), "");
}

TEST(CauseBeside, HoldsForAllOtherDataThatAreChained) {
  const Sums own(Noise, MinusMagnitude), first(Alternating, MinusMagnitude);
  const auto is_named_beside = [&](double (*kernel)(double)) {
    const Sums second(SmallInteger, kernel);
    WrongResult last = second.Result(), beside = first.Result(), result = own.Result();
    last.least_bits = beside.least_bits = 0;
    const WrongPlaces of_last(last), of_beside(beside);
    last.places = &of_last, beside.places = &of_beside;
    beside.beside = &last, result.beside = &beside;
    SearchWork work(10);
    return !FindCauses(result, work).empty();
  };
  EXPECT_TRUE(is_named_beside(MinusMagnitude));
  EXPECT_FALSE(is_named_beside([](double x) { return 3 * x; }));
}

TEST(CauseBeside, IsContradictedByOtherDataThatItDoesNotMake) {
  EXPECT_EQ(NameBeside(Sums(LargeInteger, Same), true), "");
  EXPECT_EQ(NameBeside(Sums(LargeInteger, [](double x) { return x + 1; }), false), "");
}

}  // namespace
}  // namespace assay::test
