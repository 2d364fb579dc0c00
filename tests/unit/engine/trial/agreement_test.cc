// SPDX-License-Identifier: Apache-2.0
// How far implementations of one case lie apart, and which of them is the odd one out.
#include <gmock/gmock.h>

#include "harness/core/model/case_spec.h"
#include "harness/engine/trial/relations.h"

namespace assay {
namespace {

class AgreementOf : public testing::Test {
 protected:
  AgreementOf()
      : data_(PrepareCase(ParseId("matmul/f32/m=4,n=4,k=1000/fill=normal/seed=0").value(), "auto", GoldenStore({}))
                  .value()),
        bound_(BoundOf(data_, ParseDeclaration("f32acc").value())) {}

  // An output that is off by `share` of the bound everywhere.
  std::string Add(const char* implementation, double share) {
    std::vector<double> y = data_.golden().value;
    for (int64_t i = 0; i < data_.golden().size(); ++i)
      y[static_cast<size_t>(i)] += share * bound_.LargestToleranceAt(data_.golden(), i);
    Tensor output(data_.problem.outputs[0].dtype, data_.problem.outputs[0].shape);
    output.SetDoubles(y);
    return agreement_.Add(data_, bound_, implementation, output);
  }

  PreparedCase data_;
  BoundModel bound_;
  Agreement agreement_;
};

TEST_F(AgreementOf, IsTheDistanceToTheFarthest) {
  EXPECT_EQ(Add("a", 0), "");
  EXPECT_EQ(Add("b", 0.2), "agreement(a)=0.1");
  EXPECT_EQ(Add("c", 0.1), "agreement(b)=0.05");
}

// Each distance is over what both contracts permit.
TEST_F(AgreementOf, CountsTheToleranceOfEachContract) {
  BoundModel wide = bound_;
  for (auto& term : wide.terms) term.coefficient *= 3;
  Add("a", 0);
  Tensor output(data_.problem.outputs[0].dtype, data_.problem.outputs[0].shape);
  output.SetDoubles(data_.golden().value);
  agreement_.Add(data_, wide, "wide", output);
  const std::string text = Add("b", 0.2);
  EXPECT_THAT(text, testing::StartsWith("agreement(a)=0.1;odd_one_out(b)=0.05"));
}

// Its time and memory do not grow with the case.
TEST(Agreement, IsOfOutputsUpToASize) {
  for (const auto& [m, compared] : {std::pair{512, true}, std::pair{513, false}}) {
    const std::string id = "matmul/f32/m=" + std::to_string(m) + ",n=512,k=2/fill=normal/seed=0";
    const PreparedCase data = PrepareCase(ParseId(id).value(), "auto", GoldenStore({})).value();
    const BoundModel bound = BoundOf(data, ParseDeclaration("f32acc").value());
    Tensor output(data.problem.outputs[0].dtype, data.problem.outputs[0].shape);
    output.SetDoubles(data.golden().value);
    Agreement agreement;
    EXPECT_EQ(agreement.Add(data, bound, "a", output), "");
    EXPECT_EQ(agreement.Add(data, bound, "b", output), compared ? "agreement(a)=0" : "") << id;
  }
}

TEST_F(AgreementOf, NamesTheOddOneOutWhicheverCameFirst) {
  Add("odd", 0.8);
  Add("a", 0.02);
  EXPECT_EQ(Add("b", 0), "agreement(odd)=0.4;odd_one_out(odd)=0.39");
  EXPECT_EQ(Add("c", -0.02), "agreement(odd)=0.41;odd_one_out(odd)=0.39");
}

TEST_F(AgreementOf, NamesNobodyWhereTwoPairsStand) {
  Add("a", 0);
  Add("b", 0.01);
  Add("c", 0.7);
  EXPECT_EQ(Add("d", 0.71), "agreement(a)=0.355");
}

}  // namespace
}  // namespace assay
