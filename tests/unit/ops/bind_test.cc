// SPDX-License-Identifier: Apache-2.0
// Schemas, shapes, and the errors of cases that cannot be.
#include <gmock/gmock.h>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Registry, FindsOperatorsByNameInOrder) {
  EXPECT_NE(OperatorRegistry::Global().Find("matmul"), nullptr);
  EXPECT_EQ(OperatorRegistry::Global().Find("no-such-operator"), nullptr);
  const auto all = OperatorRegistry::Global().All();
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, [](const Operator* op) { return op->schema().op; }));
}

TEST(MatmulBind, ShapesFollowTheAttributes) {
  const Problem plain = Bind("matmul/f32/m=2,n=3,k=4/fill=normal/seed=0");
  ASSERT_EQ(plain.inputs.size(), 2u);
  EXPECT_THAT(plain.inputs[0].shape, ElementsAre(2, 4));
  EXPECT_THAT(plain.inputs[1].shape, ElementsAre(4, 3));
  EXPECT_THAT(plain.outputs[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(plain.flops, 48);
  EXPECT_EQ(plain.bytes, 4 * (8 + 12 + 6));
  EXPECT_EQ(plain.attrs.size(), Op("matmul").schema().attrs.size());
  EXPECT_EQ(plain.Float("alpha"), 1);
  EXPECT_EQ(plain.Text("epilogue"), "fused");

  const Problem full =
      Bind("matmul/bf16-bf16-f32/m=2,n=3,k=4,batch=5,transa=1,transb=1,beta=0.5,bias=1/fill=normal/seed=0");
  ASSERT_EQ(full.inputs.size(), 4u);
  EXPECT_THAT(full.inputs[0].shape, ElementsAre(5, 4, 2));
  EXPECT_THAT(full.inputs[1].shape, ElementsAre(5, 3, 4));
  EXPECT_THAT(full.inputs[2].shape, ElementsAre(5, 2, 3));
  EXPECT_THAT(full.inputs[3].shape, ElementsAre(3));
  EXPECT_EQ(full.inputs[1].dtype, DType::kBF16);
  EXPECT_EQ(full.inputs[2].dtype, DType::kF32);
  EXPECT_EQ(full.inputs[3].dtype, DType::kF32);
  EXPECT_EQ(full.outputs[0].dtype, DType::kF32);
  EXPECT_EQ(Bind("matmul/f32/m=2,n=3,k=4,bias=1/fill=normal/seed=0").inputs[2].name, "bias");
}

TEST(ReduceBind, ShapesFollowTheAxes) {
  EXPECT_THAT(Bind("reduce/f32/shape=2x3x4,axes=-1/fill=normal/seed=0").outputs[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(Bind("reduce/f32/shape=2x3x4,axes=2+0/fill=normal/seed=0").outputs[0].shape, ElementsAre(3));
  EXPECT_THAT(Bind("reduce/f32/shape=2x3x4,axes=0+2,keepdims=1/fill=normal/seed=0").outputs[0].shape,
              ElementsAre(1, 3, 1));
  EXPECT_TRUE(Bind("reduce/f32/shape=5,axes=0/fill=normal/seed=0").outputs[0].shape.empty());
  EXPECT_EQ(Bind("reduce/f16/shape=5,axes=0,kind=argmax/fill=normal/seed=0").outputs[0].dtype, DType::kI64);
  EXPECT_EQ(Bind("reduce/f16-i64/shape=5,axes=0,kind=argmin/fill=normal/seed=0").outputs[0].dtype, DType::kI64);
  EXPECT_EQ(Bind("reduce/i8-i32/shape=5,axes=0/fill=normal/seed=0").outputs[0].dtype, DType::kI32);
  EXPECT_EQ(Bind("reduce/bf16-f32/shape=5,axes=0,kind=l2/fill=normal/seed=0").outputs[0].dtype, DType::kF32);
  EXPECT_EQ(Bind("reduce/i8/shape=5,axes=0,kind=max/fill=normal/seed=0").outputs[0].dtype, DType::kI8);
}

TEST(Bind, SpellingsOfAnAxisAreOneCase) {
  for (const auto& [given, id] : {std::pair{"softmax/f32/shape=2x3,axis=1", "softmax/f32/shape=2x3"},
                                  {"softmax/f32/shape=2x3,axis=-1", "softmax/f32/shape=2x3"},
                                  {"softmax/f32/shape=2x3,axis=-2", "softmax/f32/shape=2x3,axis=0"},
                                  {"reduce/f32/shape=2x3,axes=-1", "reduce/f32/shape=2x3,axes=1"},
                                  {"reduce/f32/shape=2x3x4,axes=-1+0", "reduce/f32/shape=2x3x4,axes=0+2"}}) {
    EXPECT_EQ(Bind(std::string(given) + "/fill=normal/seed=0").spec.Id(), std::string(id) + "/fill=normal/seed=0");
  }
}

struct BadCase {
  const char* id;
  const char* message;
};

class BadCases : public testing::TestWithParam<BadCase> {};

TEST_P(BadCases, AreUsageErrorsThatSayWhy) {
  const Result<Problem> problem = TryBind(std::string(GetParam().id) + "/fill=normal/seed=0");
  ASSERT_FALSE(problem.has_value()) << GetParam().id;
  EXPECT_EQ(problem.error().code, ErrorCode::kUsage);
  EXPECT_THAT(problem.error().message, HasSubstr(GetParam().message)) << GetParam().id;
}

INSTANTIATE_TEST_SUITE_P(Matmul, BadCases,
                         testing::Values(BadCase{"matmul/f32/m=2,n=3", "k"},  //
                                         BadCase{"matmul/f32/m=-1,n=3,k=4", "m=-1 must not be negative"},
                                         BadCase{"matmul/f32/m=0,n=3037000500,k=3037000500", "b of shape"},
                                         BadCase{"matmul/f32/m=2,n=3,k=4,transa=2", "transa=2 must be 0 or 1"},
                                         BadCase{"matmul/f32/m=2,n=3,k=4,epilogue=none", "fused, rounded"},
                                         BadCase{"matmul/f32/m=2,n=3,k=4,alpha=0", "alpha=0 must not be 0"},
                                         BadCase{"matmul/f16-bf16-f32/m=2,n=3,k=4", "a is f16 and b is bf16"},
                                         BadCase{"matmul/f32-f32-f16/m=2,n=3,k=4", "possible are f64, f32"},
                                         BadCase{"matmul/e4m3/m=2,n=3,k=4", "e4m3-e4m3-X"},
                                         BadCase{"matmul/i8/m=2,n=3,k=4", "i8-i8-i32"},
                                         BadCase{"matmul/c64/m=2,n=3,k=4", "no product of c64"},
                                         BadCase{"matmul/i8-i8-i32/m=2,n=3,k=4,alpha=2", "alpha=2 must be 1"},
                                         BadCase{"matmul/i8-i8-i32/m=2,n=3,k=4,bias=1", "bias=1 must be 0"},
                                         BadCase{"matmul/i8-i8-i32/m=2,n=3,k=131072", "at most 131071"}));

INSTANTIATE_TEST_SUITE_P(Reduce, BadCases,
                         testing::Values(BadCase{"reduce/f32/shape=2x3", "axes"},  //
                                         BadCase{"reduce/f32/shape=2x3,axes=2", "axes=2: 2 is outside [-2, 1]"},
                                         BadCase{"reduce/f32/shape=2x3,axes=-3", "axes=-3: -3 is outside"},
                                         BadCase{"reduce/f32/shape=2x3,axes=1+-1", "given twice"},
                                         BadCase{"reduce/f32/shape=2x0,axes=1,kind=min", "nothing is the min of none"},
                                         BadCase{"reduce/f32/shape=2x3,axes=1,kind=median", "logsumexp"},
                                         BadCase{"reduce/f32/shape=2x3,axes=1,keepdims=3", "keepdims=3"},
                                         BadCase{"reduce/f32/shape=2x3,axes=1,tie=any", "argmax and argmin"},
                                         BadCase{"reduce/f32/shape=2x3,axes=1,nan=ignore",
                                                 "max, min, argmax and argmin"},
                                         BadCase{"reduce/i8/shape=2x3,axes=1,kind=mean", "sum and prod"},
                                         BadCase{"reduce/i32-i8/shape=2x3,axes=1,kind=prod", "i64 that is as wide"},
                                         BadCase{"reduce/f32-i32/shape=2x3,axes=1,kind=argmax", "i64"},
                                         BadCase{"reduce/f32-f16/shape=2x3,axes=1", "f16-f32"},
                                         BadCase{"reduce/f16-f32/shape=2x3,axes=1,kind=max", "x's type"},
                                         BadCase{"reduce/e4m3/shape=2x3,axes=1", "x may be"},
                                         BadCase{"reduce/i8-i32/shape=4096x4096,axes=0+1", "at most 16777215"}));

INSTANTIATE_TEST_SUITE_P(
    Others, BadCases,
    testing::Values(BadCase{"conv/f32/n=1,c=3,o=4,i=3x3,k=5x5", "k=5 of axis 0 spans 5 elements, but i=3"},
                    BadCase{"conv/f32/n=1,c=3,o=4,i=8x8,k=3,stride=2x2x2", "stride=2x2x2 has 3 axes"},
                    BadCase{"conv/f32/n=1,c=3,o=4,i=8x8,k=3x0", "k=0 of axis 1 must be at least 1"},
                    BadCase{"conv/f32/n=1,c=3,o=4,i=8x8,k=3,groups=2", "c=3 must be a multiple of groups=2"},
                    BadCase{"softmax/f32/shape=2x3,axis=2", "axis=2 is outside [-2, 1]"},
                    BadCase{"attention/f32/b=1,h=3,hkv=2,l=4,d=4", "hkv=2 does not divide h=3"},
                    BadCase{"attention/f32/b=1,h=1,l=4,d=4,scale=0", "scale=0 must be finite and not 0"},
                    BadCase{"attention/f32/b=1,h=1,l=4,d=4,softcap=-2", "softcap=-2 must not be negative"},
                    BadCase{"fft/c64/kind=c2c,n=0", "n=0: every length"}));

INSTANTIATE_TEST_SUITE_P(
    Absurd, BadCases,
    testing::Values(BadCase{"conv/f32/n=1,c=1,o=1,i=5,k=3,stride=9223372036854775807", "stride=9223372036854775807 of"},
                    BadCase{"conv/f32/n=1,c=1,o=1,i=9223372036854775807,k=3,pad=1", "i=9223372036854775807 of axis 0"},
                    BadCase{"conv/f32/n=1,c=1,o=1,i=5,k=4611686018427387905,dilation=2", "is above 2^31 - 1"},
                    BadCase{"conv/f32/n=1,c=1,o=1,i=2000000000x2000000000,k=1", "x of shape 1x1x2000000000x2000000000"},
                    BadCase{"conv/i8-i8-i32/n=1,c=4611686018427387904,o=1,i=8,k=8", "can overflow i32"},
                    BadCase{"attention/f32/b=9000000000000000000,h=2,l=1,d=8", "q of shape 9000000000000000000x2x1x8"},
                    BadCase{"attention/f32/b=1,h=1,l=1,s=9223372036854775807,d=8", "k of shape"},
                    BadCase{"fft/c64/kind=c2c,n=9223372036854775807", "at most 2^32"},
                    BadCase{"softmax/f32/shape=3000000000x3000000000", "than can be counted"}));

TEST(AttentionBind, TakesNoTimeForManyQueries) {
  EXPECT_GT(Bind("attention/f32/b=1,h=1,l=100000000000000,d=8,causal=1/fill=normal/seed=0").flops, 1e28);
}

}  // namespace
}  // namespace assay::test
