// SPDX-License-Identifier: Apache-2.0
// Attention, quantised products, convolutions the other way round and experts on numbers that a reader can check.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/ops/golden_numbers.h"

namespace assay {
namespace {

using test::TryBind;
using testing::ElementsAre;

// These elements are 0 by every order of computation in f32.
void ExpectExactZeros(const std::string& id, const std::vector<Numbers>& values, const std::vector<size_t>& elements) {
  const Problem problem = test::Bind(id + "/fill=normal/seed=0");
  const Operator& op = test::Op(problem.spec.op);
  const std::vector<Tensor> inputs = HoldOperands(problem, values);
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
  const BoundModel bound = op.Bound(problem, 0, golden, ParseDeclaration("f32acc;math=4").value());
  const ElementJudge judge(golden, bound, ParseDeclaration("f32acc;math=4").value(), DType::kF32);
  for (const size_t i : elements) {
    const auto at = static_cast<int64_t>(i);
    EXPECT_TRUE(judge.Judge(at, 0).accepted) << id;
    for (const double wrong : {kNaN, 1.0, HUGE_VAL})
      EXPECT_FALSE(judge.Judge(at, wrong).accepted) << id << ": " << wrong;
  }
}

const double kLog2 = std::log(2.0), kLog3 = std::log(3.0);

TEST(Networks, AttentionAveragesTheKeysThatAreSeen) {
  const std::string shape = "/f32/b=1,h=1,hkv=1,l=1,s=2,d=1,dv=1,scale=1";
  const std::vector<Numbers> operands = {{1}, {0, kLog3}, {1, 3}};  // weights of 1/4 and 3/4
  ExpectNear(ResultOf("attention_lse" + shape, operands), {2.5});
  ExpectNear(ResultOf("attention_lse" + shape, operands, 1), {2 * kLog2});
  ExpectNear(ResultOf("sink_attention" + shape, {{1}, {0, kLog3}, {1, 3}, {2 * kLog2}}), {1.25});
  // The slope log 2 halves the weight of a key for each step that it is away; the query stands at the last key.
  ExpectNear(ResultOf("alibi_attention" + shape, {{0}, {0, 0}, {3, 6}, {kLog2}}), {5});
  const std::string two = "sink_attention/f32/b=1,h=1,hkv=1,l=2,s=2,d=1,dv=1,causal=1";
  const std::vector<Numbers> far_sink = {{0, 0}, {0, 0}, {1, 3}, {-200}};
  ExpectNear(ResultOf(two, far_sink), {1, 2});
  ExpectNear(ResultOf(two + ",window=1", far_sink), {1, 3});
  EXPECT_FALSE(TryBind("sink_attention/f32/b=1,h=3,hkv=2,l=2,s=2,d=1,dv=1/fill=normal/seed=0"));
}

// Nothing of these rows is left to chance: what a kernel never wrote would pass for 0.
TEST(Networks, QueriesThatSeeNoKeyAreZeroAndNothingElse) {
  const std::string of_pages = "paged_decode/f32-f32-f32-i32-i32-f32/b=2,h=1,hkv=1,d=1,pages=1,page=2,blocks=1";
  ExpectExactZeros(of_pages, {{1, 1}, {2, 3}, {4, 5}, {0, 0}, {2, 0}}, {1});
  const std::string of_sequences = "ragged_attention/f32-f32-f32-i32-i32-f32/t=3,s=2,h=1,hkv=1,d=1,sequences=2";
  ExpectExactZeros(of_sequences, {{1, 1, 1}, {2, 3}, {4, 5}, {2, 3}, {2, 2}}, {2});
  const std::string later = "/f32/b=1,h=1,hkv=1,l=3,s=2,d=1,dv=1,causal=1";
  ExpectExactZeros("alibi_attention" + later, {{1, 1, 1}, {2, 3}, {4, 5}, {0.5}}, {0});
  ExpectExactZeros("sink_attention" + later, {{1, 1, 1}, {2, 3}, {4, 5}, {0.5}}, {0});
  ExpectExactZeros("lse_merge/f32/parts=2,rows=1,n=1", {{0, 0}, {-HUGE_VAL, -HUGE_VAL}}, {0});
  ExpectExactZeros("attention_backward" + later, {{1, 1, 1}, {2, 3}, {4, 5}, {6, 7, 8}}, {0});
}

TEST(Networks, PagesHoldTheKeysOfSequences) {
  const std::string shape = "paged_decode/f32-f32-f32-i32-i32-f32/b=2,h=2,hkv=1,d=1,pages=2,page=2,blocks=1";
  const Numbers q = {0, 0, 0, 0}, keys = {0, 0, 0, 0};
  ExpectNear(ResultOf(shape, {q, keys, {1, 2, 3, 5}, {1, 0}, {2, 1}}), {4, 4, 1, 1});
  ExpectNear(ResultOf(shape, {q, keys, {1, kNaN, 3, 5}, {1, 0}, {2, 1}}), {4, 4, 1, 1});
  ExpectNear(ResultOf(shape, {q, keys, {1, kNaN, 3, 5}, {1, 0}, {1, 0}}), {3, 3, 0, 0});
}

TEST(Networks, SequencesSeeTheirOwnKeysAlone) {
  const std::string shape = "ragged_attention/f32-f32-f32-i32-i32-f32/t=3,s=3,h=1,hkv=1,d=1,sequences=2";
  const Numbers zeros = {0, 0, 0}, v = {1, 3, 7};
  ExpectNear(ResultOf(shape, {zeros, zeros, v, {2, 3}, {2, 3}}), {2, 2, 7});
  ExpectNear(ResultOf(shape + ",causal=1", {zeros, zeros, v, {2, 3}, {2, 3}}), {1, 2, 7});
  ExpectNear(ResultOf(shape, {zeros, zeros, v, {2, 3}, {0, 3}}), {0, 0, 11.0 / 3});
  ExpectNear(ResultOf(shape + ",causal=1", {zeros, zeros, v, {1, 3}, {2, 3}}), {2, 0, 7});
}

TEST(Networks, PartsOfAttentionAreMergedByTheirSums) {
  const std::vector<Numbers> parts = {{1, 3}, {0, kLog3}};
  ExpectNear(ResultOf("lse_merge/f32/parts=2,rows=1,n=1", parts), {2.5});
  ExpectNear(ResultOf("lse_merge/f32/parts=2,rows=1,n=1", parts, 1), {2 * kLog2});
  // A part without keys counts nothing; a query without keys in any part is one of attention without keys.
  const std::vector<Numbers> one_empty = {{1, 3}, {-HUGE_VAL, kLog3}}, both_empty = {{0, 0}, {-HUGE_VAL, -HUGE_VAL}};
  ExpectNear(ResultOf("lse_merge/f32/parts=2,rows=1,n=1", one_empty), {3});
  ExpectNear(ResultOf("lse_merge/f32/parts=2,rows=1,n=1", {{kNaN, 3}, {-HUGE_VAL, kLog3}}), {3});
  EXPECT_THAT(ResultOf("lse_merge/f32/parts=2,rows=1,n=1", both_empty), ElementsAre(0));
  EXPECT_THAT(ResultOf("lse_merge/f32/parts=2,rows=1,n=1", both_empty, 1), ElementsAre(-HUGE_VAL));
}

TEST(Networks, CodesHaveScalesOfTheirOwn) {
  const std::string product = "scaled_mm/i8-i8-f32-f32-f32/m=2,k=2,n=1";
  ExpectNear(ResultOf(product + ",per=row", {{1, 2, 3, 4}, {5, 6}, {1, 10}, {2}}), {34, 780});
  ExpectNear(ResultOf(product + ",per=block,block=1", {{1, 2, 3, 4}, {5, 6}, {1, 10, 100, 1000}, {1, 2}}),
             {245, 49500});
  ExpectNear(ResultOf("scaled_mm/u8-i8-f32-f32-u8-f32/m=1,k=2,n=1", {{130, 126}, {5, 6}, {1}, {2}, {128}}), {-4});
  // A byte has the code of an even row in its lower half: 3 and 1, less 2, times 10 and 100.
  ExpectNear(ResultOf("w4a16_mm/f32-u8-f32-u8-f32/rows=1,k=2,groups=2,n=1", {{1, 2}, {0x13}, {10, 100}, {2, 2}}),
             {-190});
  EXPECT_FALSE(TryBind("w4a16_mm/f32-u8-f32-u8-f32/rows=1,k=3,groups=3,n=1/fill=normal/seed=0"));
  ExpectNear(ResultOf("requantize/i32-f32-i8/rows=1,n=3,zero=3", {{10, -10, 1000}, {0.5}}), {8, -2, 127});
}

// Codes of the tables of the MX specification: 2 and 7 of e2m1 are 1 and 6, 8 and 31 of e2m3 1 and 7.5, 12 and 31 of
// e3m2 1 and 28; the last of each is negative with its sign.
TEST(Networks, BlocksHaveScalesOfTheirOwn) {
  const std::string shape = "mx_mm/e4m3-e4m3-u8-u8-f32/m=1,k=2,n=1";
  ExpectNear(ResultOf(shape, {{1, 2}, {3, 4}, {128}, {126}}), {11});
  ExpectNear(ResultOf(shape + ",block=1", {{1, 2}, {3, 4}, {128, 130}, {126, 127}}), {67});
  EXPECT_TRUE(std::isnan(ResultOf(shape + ",block=1", {{1, 2}, {3, 4}, {128, 255}, {126, 127}})[0]));
  const std::string bytes = "mx_mm/u8-u8-u8-u8-f32/m=1,k=2,n=1,codes=";
  ExpectNear(ResultOf(bytes + "e2m1", {{0x72}, {0xA1}, {127}, {127}}), {-5.5});
  ExpectNear(ResultOf(bytes + "e2m3", {{8, 31}, {1, 63}, {127}, {127}}), {-56.125});
  ExpectNear(ResultOf(bytes + "e3m2", {{12, 31}, {1, 63}, {127}, {127}}), {-783.9375});
  ExpectNear(
      ResultOf("mx_mm/u8-u8-e4m3-e4m3-f32-f32/m=1,k=2,n=1,block=16,codes=e2m1", {{0x72}, {0xA1}, {3}, {0.5}, {2}}),
      {-16.5});
  EXPECT_FALSE(TryBind(bytes + "none/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind(shape + ",codes=e2m1/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind("mx_mm/u8-u8-u8-u8-f32/m=1,k=3,n=1,codes=e2m1/fill=normal/seed=0"));
  const Problem small = test::Bind(bytes + "e2m3/fill=normal/seed=0");
  const Status status = test::Op("mx_mm").CheckInputs(small, HoldOperands(small, {{8, 64}, {1, 63}, {127}, {127}}));
  EXPECT_THAT(status.error().message, testing::HasSubstr("a[0,1] is 64"));
}

TEST(Networks, TransposedConvolutionsSpreadKernels) {
  const std::string shape = "conv_transpose/f32/n=1,c=1,o=1,h=1,w=2,k=2,stride=2";
  ExpectNear(ResultOf(shape, {{1, 10}, {1, 2, 3, 4}}), {1, 2, 10, 20, 3, 4, 30, 40});
  ExpectNear(ResultOf("conv_transpose/f32/n=1,c=1,o=1,h=1,w=2,k=2", {{1, 10}, {1, 2, 3, 4}}), {1, 12, 20, 3, 34, 40});
  ExpectNear(ResultOf("lp_pool/f32/n=1,c=1,h=2,w=2,k=2", {{2, -4, 5, 6}}), {9});
  ExpectNear(ResultOf("lp_pool/f32/n=1,c=1,h=2,w=2,k=2,p=1", {{2, -4, 5, 6}}), {17});
}

// A row of 0, 4 and 8, with coordinates and weights by hand.
TEST(Networks, ImagesOfAnotherSize) {
  const auto resized = [](int64_t ow, const std::string& attrs) {
    return ResultOf(fmt::format("resize/f32/n=1,c=1,h=1,w=3,oh=1,ow={}{}", ow, attrs), {{0, 4, 8}});
  };
  ExpectNear(resized(6, ",mode=linear"), {0, 1, 3, 5, 7, 8});
  ExpectNear(resized(6, ",mode=linear,coords=asymmetric"), {0, 2, 4, 6, 8, 8});
  ExpectNear(resized(5, ",mode=linear,coords=align_corners"), {0, 2, 4, 6, 8});
  ExpectNear(resized(1, ",mode=linear,coords=align_corners"), {0});
  ExpectNear(resized(1, ",mode=linear"), {4});
  // Half way to the next tap they weigh 19/32 each, those beyond -3/32; beyond the edge is the edge.
  ExpectNear(resized(6, ",mode=cubic,coords=asymmetric"), {0, 1.625, 4, 6.375, 8, 8.375});
  // 1, 3 and 5 quarters of the way between taps, then halves.
  ExpectNear(resized(6, ""), {0, 0, 4, 4, 8, 8});
  const std::string halves = ",coords=asymmetric,rounding=";
  ExpectNear(resized(6, halves + "round_prefer_floor"), {0, 0, 4, 4, 8, 8});
  ExpectNear(resized(6, halves + "round_prefer_ceil"), {0, 4, 4, 8, 8, 8});
  ExpectNear(resized(6, halves + "floor"), {0, 0, 4, 4, 8, 8});
  ExpectNear(resized(6, halves + "ceil"), {0, 4, 4, 8, 8, 8});
  EXPECT_FALSE(TryBind("resize/f32/n=1,c=1,h=1,w=3,oh=1,ow=6,mode=linear,rounding=ceil/fill=normal/seed=0"));
}

// A row of 2, 4 and 8 at places that are half an element beside it, on one, half way between two, and beyond.
TEST(Networks, ImagesAtPlacesOfAGrid) {
  const auto sampled = [](const std::string& attrs, const Numbers& columns) {
    Numbers grid;
    for (const double column : columns) grid.insert(grid.end(), {column, 0});
    return ResultOf(fmt::format("grid_sample/f32/n=1,c=1,h=1,w=3,oh=1,ow={}{}", columns.size(), attrs),
                    {{2, 4, 8}, grid});
  };
  const double third = 1.0 / 3;
  ExpectNear(sampled("", {-1, -2 * third, 0, third, 1, 2}), {1, 2, 4, 6, 4, 0});
  ExpectNear(sampled(",padding=border", {-1, 0, third, 1, 2}), {2, 4, 6, 8, 8});
  ExpectNear(sampled(",padding=reflection", {-1, 1, 4 * third, 2}), {2, 8, 8, 4});
  ExpectNear(sampled(",align_corners=1", {-1, -0.5, 0, 1, 1.5}), {2, 3, 4, 8, 4});
  ExpectNear(sampled(",align_corners=1,padding=reflection", {-1.5, 1.5, 3, 5, -7}), {3, 6, 2, 8, 8});
  ExpectNear(sampled(",mode=nearest", {-1, -0.9, 0.1, 0.9, 1.5}), {2, 2, 4, 8, 0});
  ExpectNear(sampled(",mode=nearest,padding=border", {-2, 2}), {2, 8});
  ExpectNear(sampled(",mode=nearest,padding=reflection,align_corners=1", {-1.6, 1.6}), {4, 4});
  const Problem problem = test::Bind("grid_sample/f32/n=1,c=1,h=1,w=3,oh=1,ow=1,padding=reflection/fill=normal/seed=0");
  const Operator& op = test::Op("grid_sample");
  EXPECT_TRUE(op.CheckInputs(problem, HoldOperands(problem, {{2, 4, 8}, {7, -7}})));
  for (const double wrong : {kNaN, 7.5}) {
    const Status status = op.CheckInputs(problem, HoldOperands(problem, {{2, 4, 8}, {0, wrong}}));
    EXPECT_THAT(status.error().message, testing::HasSubstr("grid[0,0,0,1] is "));
  }
}

TEST(Networks, StatesGoThroughSequences) {
  ExpectNear(ResultOf("cumprod/f32/rows=2,n=3", {{2, 3, -4, -1, 0, 5}}), {2, 6, -24, -1, 0, 0});
  const std::string conv = "causal_conv1d/f32/b=1,c=1,l=2,k=3";
  const std::vector<Numbers> operands = {{3, 4}, {1, 10, 100}, {0.5}, {1, 2}};
  ExpectNear(ResultOf(conv, operands), {321.5, 432.5});
  ExpectNear(ResultOf(conv, operands, 1), {3, 4});
  ExpectNear(ResultOf("linear_attention/f32/b=1,h=1,l=2,d=1,dv=1", {{1, 2}, {3, 4}, {5, 6}, {1, 0.5}}), {15, 63});
  const std::string step = "gated_delta_step/f32/b=1,h=1,d=1,dv=1";
  const std::vector<Numbers> position = {{2}, {3}, {5}, {0.5}, {0.25}, {4}};
  ExpectNear(ResultOf(step, position), {2.5});
  ExpectNear(ResultOf(step, position, 1), {1.25});
  const std::string rule = "gated_delta_rule/f32/b=1,h=1,l=2,d=1,dv=1,norm=none";
  const std::vector<Numbers> positions = {{2, 1}, {3, 1}, {5, 2}, {0.5, 1}, {0.25, 0.5}, {4}};
  ExpectNear(ResultOf(rule, positions), {2.5, 1.625});
  ExpectNear(ResultOf(rule, positions, 1), {1.625});
  ExpectNear(ResultOf("gated_delta_rule/f32/b=1,h=1,l=1,d=1,dv=1,eps=5", {{2}, {2}, {9}, {1}, {1}, {0}}), {4});
  EXPECT_FALSE(TryBind("gated_delta_rule/f32/b=1,h=1,l=17,d=1,dv=1/fill=normal/seed=0"));
  ExpectNear(ResultOf("associative_scan/f32/rows=1,n=3", {{9, 2, 3}, {1, 1, 1}}), {1, 3, 10});
  ExpectNear(ResultOf("fft_conv/f32/b=1,c=1,l=3", {{1, 10, 100}, {2, 3, 4}}), {2, 23, 234});
  EXPECT_FALSE(TryBind("fft_conv/f32/b=1,c=1,l=3000000/fill=normal/seed=0"));
  EXPECT_FALSE(TryBind("stft/f32/b=1,l=3000000,n=1000000/fill=normal/seed=0"));
  // Two frames: bins 0 to 2 of (1, 2, 3, 4) and (3, 4, 5, 6) times 1, 1, 1, 2.
  ExpectNear(ResultOf("stft/f32/b=1,l=6,n=4,hop=2", {{1, 2, 3, 4, 5, 6}, {1, 1, 1, 2}}),
             {14, 0, -2, 6, -6, 0, 24, 0, -2, 8, -8, 0});
  ExpectNear(ResultOf("kv_cache_write/f32-f32-i64-f32/size=3,n=3,h=1,d=1", {{1, 2, 3}, {10, 20, 30}, {2, 0, 2}}),
             {20, 2, 30});
}

TEST(Networks, RanksGetSumsAndParts) {
  const Numbers x = {1, 2, 10, 20};  // of two ranks
  EXPECT_THAT(ResultOf("all_reduce/f32/ranks=2,n=2", {x}), ElementsAre(11, 22, 11, 22));
  EXPECT_THAT(ResultOf("all_reduce/f32/ranks=2,n=2,reduction=mean", {x}), ElementsAre(5.5, 11, 5.5, 11));
  EXPECT_THAT(ResultOf("reduce_scatter/f32/ranks=2,n=2", {x}), ElementsAre(11, 22));
  EXPECT_THAT(ResultOf("all_gather/f32/ranks=2,n=2", {x}), ElementsAre(1, 2, 10, 20, 1, 2, 10, 20));
  EXPECT_FALSE(TryBind("reduce_scatter/f32/ranks=2,n=3/fill=normal/seed=0"));
}

TEST(Networks, ExpertsAndRowsAreThoseOfTheirPlaces) {
  const double silu = 1 / (1 + std::exp(-1.0));
  ExpectNear(ResultOf("moe_fused/f32-f32-f32-f32-i64-f32-f32/t=1,k=2,experts=2,d=1,h=1",
                      {{1}, {0, 1}, {5, 2}, {7, 3}, {1, 0}, {10, 100}}),
             {10 * silu * 2 * 3});
  EXPECT_THAT(ResultOf("embedding/f32-i64-f32/v=2,b=1,l=3,d=1,scale=2", {{3, 4}, {1, 0, 1}}), ElementsAre(8, 6, 8));
  EXPECT_THAT(ResultOf("index_select/f32-i64-f32/rows=2,n=2,k=1,axis=1", {{1, 2, 3, 4}, {1}}), ElementsAre(2, 4));
  EXPECT_THAT(ResultOf("index_select/f32-i64-f32/rows=2,n=2,k=1", {{1, 2, 3, 4}, {1}}), ElementsAre(3, 4));
}

// 0.32 - 0.312 is 0.008: the product has rounded numbers of 40 times that size.
TEST(Networks, RecurrencesRoundProductsThatCancel) {
  const Problem problem = test::Bind("associative_scan/f64/rows=1,n=2/fill=normal/seed=0");
  const std::vector<Tensor> inputs = HoldOperands(problem, {{0, -0.8}, {-0.4, -0.312}});
  const Golden golden = test::Op("associative_scan").ComputeGolden(problem, 0, inputs, Tier::kFast);
  EXPECT_GT(golden.sigma[1], 0.3 * 0.32);
  EXPECT_LT(golden.sigma[1], 0.32);
}

}  // namespace
}  // namespace assay
