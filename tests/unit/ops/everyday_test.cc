// SPDX-License-Identifier: Apache-2.0
// Operators of networks on numbers that a reader can check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/operator_cases.h"
#include "tests/unit/ops/golden_numbers.h"

namespace assay {
namespace {

using test::TryBind;
using testing::ElementsAre;

TEST(Everyday, MovementGoesWhereItsNameSays) {
  const Numbers x = {1, 2, 3, 4, 5, 6};  // two rows
  EXPECT_THAT(ResultOf("concat/f32/rows=2,n=3,m=1", {x, {7, 8}}), ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
  EXPECT_THAT(ResultOf("concat/f32/rows=2,n=3,axis=0,m=1", {x, {7, 8, 9}}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(ResultOf("flip/f32/rows=2,n=3", {x}), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(ResultOf("flip/f32/rows=2,n=3,axis=0", {x}), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(ResultOf("roll/f32/rows=2,n=3", {x}), ElementsAre(3, 1, 2, 6, 4, 5));
  EXPECT_THAT(ResultOf("roll/f32/rows=2,n=3,shift=-1", {x}), ElementsAre(2, 3, 1, 5, 6, 4));
  EXPECT_THAT(ResultOf("transpose/f32/a=1,b=2,c=3", {x}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(ResultOf("transpose/f32/a=2,b=3,c=1,perm=120", {x}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(ResultOf("trilu/f32/b=1,rows=2,n=3", {x}), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(ResultOf("trilu/f32/b=1,rows=2,n=3,upper=1,k=1", {x}), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(ResultOf("take_along_axis/f32-i64-f32/rows=2,n=3,k=2", {x, {2, 0, 1, 1}}), ElementsAre(3, 1, 5, 5));
  EXPECT_THAT(ResultOf("masked_fill/f32-bool-f32/n=3,value=9", {{1, 2, 3}, {0, 1, 0}}), ElementsAre(1, 9, 3));
  EXPECT_THAT(ResultOf("one_hot/i64-f32/n=2,classes=3", {{2, 0}}), ElementsAre(0, 0, 1, 1, 0, 0));
}

TEST(Everyday, PaddingIsANumberTheEdgeOrAMirror) {
  const std::string shape = "pad/f32/rows=1,n=3,bottom=0,left=2,right=1";
  EXPECT_THAT(ResultOf(shape + ",value=9", {{1, 2, 3}}), ElementsAre(9, 9, 1, 2, 3, 9));
  EXPECT_THAT(ResultOf("pad/f32/rows=1,n=3,mode=edge,bottom=0,left=2", {{1, 2, 3}}), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(ResultOf("pad/f32/rows=2,n=3,mode=reflect,left=2", {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2));
  EXPECT_FALSE(TryBind("pad/f32/rows=2,n=3,mode=reflect,left=3/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind("pad/f32/rows=2,n=3,left=-1/fill=normal/seed=0"));
}

TEST(Everyday, WindowsOfPoolsEndInsideOrAtTheEdge) {
  const Numbers image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(ResultOf("max_pool/f32/n=1,c=1,h=3,w=3,k=2", {image}), ElementsAre(5));
  EXPECT_THAT(ResultOf("max_pool/f32/n=1,c=1,h=3,w=3,k=2,ceil=1", {image}), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(ResultOf("max_pool/f32/n=1,c=1,h=3,w=3,k=2,ceil=1", {image}, 1), ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(ResultOf("max_pool/f32/n=1,c=1,h=3,w=3,k=2", {{5, 5, 5, 5, 5, 5, 5, 5, 5}}, 1), ElementsAre(0));
  EXPECT_THAT(ResultOf("max_pool/f32/n=1,c=1,h=2,w=2,k=3,pad=1", {{-4, -3, -2, -1}}, 1), ElementsAre(3));
  EXPECT_THAT(ResultOf("avg_pool/f32/n=1,c=1,h=3,w=3,k=2,ceil=1", {image}), ElementsAre(3, 4.5, 7.5, 9));
  EXPECT_THAT(ResultOf("avg_pool/f32/n=1,c=1,h=2,w=2,k=3,pad=1", {{4, 4, 4, 4}}), ElementsAre(4));
  ExpectNear(ResultOf("avg_pool/f32/n=1,c=1,h=2,w=2,k=3,pad=1,count_pad=1", {{9, 9, 9, 9}}), {4});
  EXPECT_THAT(ResultOf("adaptive_avg_pool/f32/n=1,c=1,h=1,w=3,oh=1,ow=2", {{1, 2, 5}}), ElementsAre(1.5, 3.5));
  EXPECT_FALSE(TryBind("max_pool/f32/n=1,c=1,h=3,w=3,k=3,pad=2/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind("max_pool/f32/n=1,c=1,h=3,w=3,k=5/fill=normal/seed=0"));
}

TEST(Everyday, LossesAreMeansOfTheRowsThatCount) {
  const double half = std::log(2.0);  // of two equal logits
  const std::string shape = "cross_entropy/f32-i64-f32/rows=2,n=2";
  const std::vector<Numbers> rows = {{0, 0, 0, std::log(3.0)}, {0, 1}};  // the second with 1/4 and 3/4
  ExpectNear(ResultOf(shape, rows), {(half - std::log(0.75)) / 2});
  ExpectNear(ResultOf(shape + ",ignore=1", rows), {half});
  ExpectNear(ResultOf(shape + ",reduction=none", rows), {half, -std::log(0.75)});
  ExpectNear(ResultOf(shape + ",smoothing=0.5,reduction=none", rows),
             {half, -0.75 * std::log(0.75) - 0.25 * std::log(0.25)});
  ExpectNear(ResultOf("cross_entropy_backward/f32-i64-f32-f32/rows=2,n=2", {rows[0], rows[1], {1}}),
             {-0.25, 0.25, 0.125, -0.125});
  ExpectNear(ResultOf("cross_entropy_backward/f32-i64-f32-f32/rows=2,n=2,ignore=1", {rows[0], rows[1], {1}}),
             {-0.5, 0.5, 0, 0});
  EXPECT_THAT(ResultOf("mse/f32/rows=2,n=2", {{1, 2, 3, 4}, {1, 1, 1, 1}}), ElementsAre(3.5));
  EXPECT_THAT(ResultOf("mse/f32/rows=2,n=2,reduction=batchmean", {{1, 2, 3, 4}, {1, 1, 1, 1}}), ElementsAre(7));
  ExpectNear(ResultOf("kl_div/f32/rows=1,n=2,reduction=none", {{-1, -1}, {0, 1}}), {0, 1});
  EXPECT_FALSE(TryBind("cross_entropy/f32-i64-f32/rows=2,n=2,smoothing=1.5/fill=normal/seed=0"));
}

TEST(Everyday, RunningStatisticsMoveToThoseOfTheBatch) {
  const std::string shape = "batch_norm_training/f32/n=2,c=1,s=2,eps=0.25,momentum=0.5";
  const std::vector<Numbers> inputs = {{1, 3, 1, 3}, {2}, {10}, {4}, {8}};  // mean 2, variance 1, or 4/3 of 3
  const double y = 2 / std::sqrt(1.25);
  ExpectNear(ResultOf(shape, inputs), {10 - y, 10 + y, 10 - y, 10 + y});
  ExpectNear(ResultOf(shape, inputs, 1), {3});
  ExpectNear(ResultOf(shape, inputs, 2), {4 + 2.0 / 3});
  ExpectNear(ResultOf(shape + ",population=1", inputs, 2), {4.5});
  EXPECT_FALSE(TryBind("batch_norm_training/f32/n=1,c=3,s=1/fill=normal/seed=0"));
}

TEST(Everyday, TokensGoToTheirExpertsAndBack) {
  const Numbers logits = {0, std::log(2.0), std::log(5.0)};  // 1/8, 2/8, 5/8
  ExpectNear(ResultOf("moe_route/f32/t=1,k=2,experts=3", {logits}), {0.625, 0.25});
  ExpectNear(ResultOf("moe_route/f32/t=1,k=2,experts=3,norm=1", {logits}), {5.0 / 7, 2.0 / 7});
  ExpectNear(ResultOf("moe_route/f32/t=1,k=2,experts=3,score=sigmoid", {logits}), {5.0 / 6, 2.0 / 3});
  EXPECT_THAT(ResultOf("moe_route/f32/t=1,k=2,experts=3", {logits}, 1), ElementsAre(2, 1));
  const std::vector<Numbers> tokens = {{10, 20, 30}, {1, 0, 1, 1, 0, 1}};  // three tokens of two experts
  EXPECT_THAT(ResultOf("moe_permute/f32-i64-f32/t=3,k=2,d=1,experts=2", tokens), ElementsAre(10, 30, 10, 20, 20, 30));
  EXPECT_THAT(ResultOf("moe_permute/f32-i64-f32/t=3,k=2,d=1,experts=2", tokens, 1), ElementsAre(1, 4, 0, 2, 3, 5));
  EXPECT_THAT(ResultOf("moe_unpermute/f32-i64-f32-f32/rows=3,t=1,k=2,d=1", {{1, 2, 3}, {2, 0}, {10, 100}}),
              ElementsAre(130));
  EXPECT_THAT(ResultOf("grouped_gemm/f32-f32-i32-f32/rows=3,k=1,groups=2,n=1", {{1, 2, 3}, {10, 100}, {1, 3}}),
              ElementsAre(10, 200, 300));
}

}  // namespace
}  // namespace assay
