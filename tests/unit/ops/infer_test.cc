// SPDX-License-Identifier: Apache-2.0
// Attributes that follow from the shapes of a user's tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/operator_cases.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<Operand> Operands(std::initializer_list<std::pair<const char*, Shape>> shapes) {
  std::vector<Operand> operands;
  for (const auto& [name, shape] : shapes) operands.push_back({name, DType::kF32, shape});
  return operands;
}

using Attr = AttrList::value_type;

TEST(Infer, MatmulFromItsOperands) {
  const Operator& op = test::Op("matmul");
  EXPECT_THAT(*op.InferAttrs(Operands({{"a", {2, 3}}, {"b", {3, 4}}}), {}),
              UnorderedElementsAre(Attr{"m", "2"}, Attr{"n", "4"}, Attr{"k", "3"}));
  EXPECT_THAT(
      *op.InferAttrs(Operands({{"b", {7, 4, 3}}, {"bias", {4}}, {"a", {7, 3, 2}}}), {{"transa", "1"}, {"transb", "1"}}),
      UnorderedElementsAre(Attr{"transa", "1"}, Attr{"transb", "1"}, Attr{"m", "2"}, Attr{"n", "4"}, Attr{"k", "3"},
                           Attr{"batch", "7"}, Attr{"bias", "1"}));
  // A given attribute stays, even if it does not fit: Bind and the shapes decide.
  EXPECT_THAT(*op.InferAttrs(Operands({{"a", {2, 3}}, {"b", {3, 4}}}), {{"k", "9"}}),
              UnorderedElementsAre(Attr{"m", "2"}, Attr{"n", "4"}, Attr{"k", "9"}));
  const auto four = op.InferAttrs(Operands({{"a", {5, 2, 3, 4}}, {"b", {4, 4}}}), {});
  ASSERT_FALSE(four);
  EXPECT_THAT(four.error().message, HasSubstr("join the leading axes"));
}

TEST(Infer, SoftmaxTakesTheShapeOfX) {
  EXPECT_THAT(*test::Op("softmax").InferAttrs(Operands({{"x", {2, 5}}}), {}),
              UnorderedElementsAre(Attr{"shape", "2x5"}));
}

TEST(Infer, AttentionFromItsOperands) {
  const Operator& op = test::Op("attention");
  const auto attrs = op.InferAttrs(
      Operands({{"q", {2, 8, 3, 16}}, {"k", {2, 4, 7, 16}}, {"v", {2, 4, 7, 5}}, {"mask", {3, 7}}}), {{"causal", "1"}});
  EXPECT_THAT(*attrs, UnorderedElementsAre(Attr{"b", "2"}, Attr{"h", "8"}, Attr{"hkv", "4"}, Attr{"l", "3"},
                                           Attr{"s", "7"}, Attr{"d", "16"}, Attr{"dv", "5"}, Attr{"mask", "add"},
                                           Attr{"mask_per_head", "0"}, Attr{"causal", "1"}));
  for (const auto& [shape, per_head] : {std::pair<Shape, const char*>{{1, 1, 3, 7}, "0"},
                                        {{2, 1, 3, 7}, "1"},
                                        {{1, 8, 3, 7}, "1"},
                                        {{2, 1, 1, 7}, "1"},
                                        {{8, 3, 7}, "1"},
                                        {{7}, "0"}}) {
    const auto masked =
        op.InferAttrs(Operands({{"q", {2, 8, 3, 16}}, {"k", {2, 4, 7, 16}}, {"v", {2, 4, 7, 5}}, {"mask", shape}}), {});
    EXPECT_THAT(*masked, testing::Contains(Attr{"mask_per_head", per_head})) << ShapeText(shape);
  }
  const auto flat = op.InferAttrs(Operands({{"q", {3, 16}}, {"k", {7, 16}}, {"v", {7, 5}}}), {});
  ASSERT_FALSE(flat);
  EXPECT_THAT(flat.error().message, HasSubstr("[b,h,l,d]"));
}

TEST(Infer, ConvFromItsOperands) {
  const Operator& op = test::Op("conv");
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {1, 8, 9, 7}}, {"w", {6, 2, 3, 1}}, {"bias", {6}}}), {{"pad", "1"}}),
              UnorderedElementsAre(Attr{"n", "1"}, Attr{"c", "8"}, Attr{"o", "6"}, Attr{"i", "9x7"}, Attr{"k", "3x1"},
                                   Attr{"groups", "4"}, Attr{"bias", "1"}, Attr{"pad", "1"}));
  EXPECT_FALSE(op.InferAttrs(Operands({{"x", {8, 9}}, {"w", {6, 8}}}), {}));
}

TEST(Infer, FftTakesALeadingAxisForTheBatch) {
  const Operator& op = test::Op("fft");
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {4, 30}}}), {}),
              UnorderedElementsAre(Attr{"kind", "r2c"}, Attr{"batch", "4"}, Attr{"n", "30"}));
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {4, 30}}}), {{"batch", "1"}}),
              UnorderedElementsAre(Attr{"kind", "r2c"}, Attr{"batch", "1"}, Attr{"n", "4x30"}));
  // n says how many axes are transformed.
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {4, 30}}}), {{"n", "4x30"}}),
              UnorderedElementsAre(Attr{"kind", "r2c"}, Attr{"n", "4x30"}));
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {1, 30}}}), {{"n", "30"}}),
              UnorderedElementsAre(Attr{"kind", "r2c"}, Attr{"batch", "1"}, Attr{"n", "30"}));
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {9}}}), {{"kind", "c2r"}}),
              UnorderedElementsAre(Attr{"kind", "c2r"}, Attr{"n", "16"}));
}

TEST(Infer, AnOddLengthOfC2rHasToBeSaid) {
  const Operator& op = test::Op("fft");
  const auto infer = [&](const Shape& y, AttrList given) {
    given.emplace_back("kind", "c2r");
    return op.InferAttrs(Operands({{"x", {4, 9}}, {"y", y}}), std::move(given));
  };
  EXPECT_THAT(*infer({4, 16}, {}), testing::Contains(Attr{"n", "16"}));
  const auto odd = infer({4, 17}, {});
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("c2r of odd length needs --attr n=17"));
  EXPECT_THAT(infer({4, 17}, {{"batch", "1"}}).error().message, HasSubstr("needs --attr n=4x17"));
  EXPECT_THAT(*infer({4, 17}, {{"n", "17"}}), testing::Contains(Attr{"n", "17"}));
  EXPECT_TRUE(infer({4, 99}, {}));  // neither: the shapes do not fit, which is said elsewhere
}

TEST(Infer, ReduceTakesTheShapeOfX) {
  const Operator& op = test::Op("reduce");
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {2, 3}}}), {{"axes", "1"}}),
              UnorderedElementsAre(Attr{"axes", "1"}, Attr{"shape", "2x3"}));
  EXPECT_FALSE(op.InferAttrs(Operands({{"x", {}}}), {}));
}

// An operator that infers nothing.
class Plain final : public Operator {
 public:
  const OpSchema& schema() const override { return schema_; }
  Result<Problem> Bind(const CaseSpec&) const override { std::abort(); }
  std::vector<Tensor> MakeInputs(const Problem&) const override { std::abort(); }
  Golden ComputeGolden(const Problem&, size_t /*output*/, std::span<const Tensor>, Tier) const override {
    std::abort();
  }
  BoundModel Bound(const Problem&, size_t /*output*/, const Golden&, const Contract&) const override { std::abort(); }
  std::optional<Twin> MakeTwin(const Problem&, size_t /*output*/, const Contract&, int) const override { std::abort(); }
  std::vector<Mutant> OmittedTerms(const Problem&, size_t /*output*/, std::span<const Tensor>, std::span<const double>,
                                   std::span<const int64_t>) const override {
    std::abort();
  }

 private:
  OpSchema schema_{.op = "plain",
                   .doc = "",
                   .attrs = {{"n", AttrType::kInt, ""}, {"d", AttrType::kInt, ""}, {"flag", AttrType::kInt, "0"}},
                   .operands = {"x", "y"}};
};

TEST(Infer, AnOperatorThatInfersNothingAsksForWhatIsRequired) {
  const Plain op;
  const auto missing = op.InferAttrs(Operands({{"x", {4}}}), {{"n", "4"}});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("give --attr d="));
  EXPECT_TRUE(op.InferAttrs(Operands({{"x", {4}}}), {{"n", "4"}, {"d", "2"}}));
}

// The command line names operands by these.
TEST(Infer, LayoutsListEveryOperand) {
  for (const Operator* op : OperatorRegistry::Global().All()) {
    const OpSchema& schema = op->schema();
    if (schema.layouts.empty()) continue;  // allowed: names come from `operands` then
    for (const std::string& name : schema.operands) {
      EXPECT_TRUE(std::ranges::any_of(schema.layouts, [&](const OperandDoc& o) { return o.name == name; }))
          << schema.op << " " << name;
    }
    // Outputs come behind inputs.
    ASSERT_FALSE(schema.outputs.empty()) << schema.op;
    const size_t inputs = schema.layouts.size() - schema.outputs.size();
    for (size_t k = 0; k < schema.outputs.size(); ++k) {
      EXPECT_EQ(schema.layouts[inputs + k].name, schema.outputs[k]) << schema.op;
    }
  }
}

TEST(Infer, DerivedAxesOfFormulasGiveTheAxisThatTheyFollowFrom) {
  const Operator& op = test::Op("silu_and_mul");
  EXPECT_THAT(*op.InferAttrs(Operands({{"x", {3, 10}}}), {}), UnorderedElementsAre(Attr{"rows", "3"}, Attr{"n", "5"}));
  const auto odd = op.InferAttrs(Operands({{"x", {3, 11}}}), {});
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message, HasSubstr("axis 1 of x is 2*n; 11 is no multiple of 2"));
  const auto rope = test::Op("rope").InferAttrs(Operands({{"x", {1, 4, 2, 8}}, {"cos", {4, 4}}, {"sin", {4, 4}}}), {});
  EXPECT_THAT(*rope, Contains(Attr{"d", "8"}));
}

}  // namespace
}  // namespace assay
