// SPDX-License-Identifier: Apache-2.0
// Random numbers, samplers, and products of mixed form, on numbers that a reader can check.
#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/ops/golden_numbers.h"

namespace assay {
namespace {

using test::TryBind;
using testing::ElementsAre;

TEST(RandomNumbers, UpperBitsOfWordsAreUniform) {
  const double last = 1 - 0x1p-24;
  EXPECT_THAT(ResultOf("philox_uniform/i64-f32/n=5", {{0, 255, 256, 0x1p32 - 1, -256}}),
              ElementsAre(0, 0, 0x1p-24, last, last));
}

// The first words of Random123's kat_vectors for key and counter 0 are 6627e8d5 e169c58d bc57ac4c 9b00dbd8, over 2^32
// 0.399, 0.881, 0.736 and 0.606.
TEST(RandomNumbers, DropoutKeepsWhereWordsAreBelow) {
  const std::string shape = "dropout/f32/n=4,keep=0.75";
  const double nan = std::nan("");
  EXPECT_THAT(ResultOf(shape, {{3, nan, 6, -9}}), ElementsAre(4, 0, 8, -12));
  EXPECT_THAT(ResultOf(shape, {{3, nan, 6, -9}}, 1), ElementsAre(1, 0, 1, 1));
  EXPECT_NE(ResultOf("dropout/f32/n=64", {Numbers(64, 1)}, 1), ResultOf("dropout/f32/n=64,key=1", {Numbers(64, 1)}, 1));
  const Numbers later = ResultOf("dropout/f32/n=64,offset=1", {Numbers(64, 1)}, 1);
  const Numbers first = ResultOf("dropout/f32/n=64", {Numbers(64, 1)}, 1);
  EXPECT_EQ(Numbers(first.begin() + 4, first.end()), Numbers(later.begin(), later.end() - 4));
  // The last word is e66666da: its upper 24 bits are 0.9 in f32, and below 0.9.
  EXPECT_THAT(ResultOf("dropout/f32/n=4,offset=327360", {{9, 9, 9, 9}}, 1).back(), 0);
  EXPECT_FALSE(TryBind("dropout/f32/n=4,keep=0/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind("dropout/f32/n=4,offset=-1/fill=normal/seed=0"));
}

// Half of a unit that stays is lost, so that random digits of another half carry.
TEST(RandomNumbers, RandomDigitsCarry) {
  const double x = 1 + 0x1p-8, far = 1 + 0x1p-7;
  EXPECT_THAT(ResultOf("stochastic_round/f32-i32-bf16/n=4", {{x, x, -x, -x}, {0x7FFF, 0x8000, 0x7FFF, 0x8000}}),
              ElementsAre(1, far, -1, -far));
  EXPECT_THAT(ResultOf("stochastic_round/f32-i32-bf16/n=3", {{0x1p-140, HUGE_VAL, 0}, {0, 0, 65535}}),
              ElementsAre(0, HUGE_VAL, 0));
  const double y = 1 + 0x1p-11;
  EXPECT_THAT(ResultOf("stochastic_round/f32-i32-f16/n=5",
                       {{y, y, 0x1p-25, 0x1p-25, 70000}, {0x2FFF, 0x1000, 0x0FFF, 0x1000, 0}}),
              ElementsAre(1, 1 + 0x1p-10, 0, 0x1p-24, HUGE_VAL));
}

TEST(Samplers, TokensUntilTheyHaveTopP) {
  const Numbers logits = {std::log(0.2), std::log(0.5), std::log(0.3)};
  EXPECT_THAT(ResultOf("top_p_mask/f32-bool/rows=1,n=3,top_p=0.7", {logits}), ElementsAre(0, 1, 1));
  EXPECT_THAT(ResultOf("top_p_mask/f32-bool/rows=1,n=3,top_p=0.45", {logits}), ElementsAre(0, 1, 0));
  EXPECT_THAT(ResultOf("top_p_mask/f32-bool/rows=1,n=3,top_p=0.5", {{0, 0, 0}}), ElementsAre(1, 1, 0));
  EXPECT_THAT(ResultOf("min_p_mask/f32-bool/rows=1,n=3,min_p=0.5", {logits}), ElementsAre(0, 1, 1));
  EXPECT_FALSE(TryBind("top_p_mask/f32-bool/rows=1,n=3,top_p=0/fill=normal/seed=0"));
}

TEST(MixedProducts, OutliersAndStoredElements) {
  ExpectNear(
      ResultOf("llm_int8_mm/f32-i8-i8-f32-f32-bool-f32/m=1,k=2,n=1", {{10, 20}, {3, 4}, {5, 6}, {0.5}, {2}, {0, 1}}),
      {255});
  ExpectNear(
      ResultOf("sparse_mm/f32-u8-f32-f32/m=1,k=8,n=1", {{1, 2, 3, 4}, {0, 3, 1, 1}, {10, 20, 30, 40, 50, 60, 70, 80}}),
      {510});
  EXPECT_FALSE(TryBind("sparse_mm/f32-u8-f32-f32/m=1,k=6,n=1/fill=normal/seed=0"));
}

}  // namespace
}  // namespace assay
