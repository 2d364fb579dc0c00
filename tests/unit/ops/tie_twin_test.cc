// SPDX-License-Identifier: Apache-2.0
// Twins whose sums are ties: what rounds them any other way than to even is seen, on outputs of every format that the
// accumulator is wider than.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/core/base/text.h"
#include "ops/exact_ties.h"
#include "tests/support/operator_cases.h"

namespace assay {
namespace {

using test::Bind;
using test::Declared;
using test::Op;

std::optional<Twin> TieTwinOf(const std::string& id, const char* contract) {
  const Problem problem = Bind(id);
  const Contract declared = Declared(contract);
  if (Op(problem.spec.op).TwinVariants(problem, 0, declared) <= kTieVariant) return std::nullopt;
  return Op(problem.spec.op).MakeTwin(problem, 0, declared, kTieVariant);
}

struct Wrong {
  int64_t away = 0, toward_zero = 0, up = 0, even = 0;
};

// Outputs that are wrong when the exact sums are rounded with ties as named.
Wrong CountWrong(const std::string& id, const Twin& twin) {
  const Problem problem = Bind(id);
  const DType out = problem.outputs[0].dtype;
  const Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, twin.inputs, Tier::kReproducible);
  Wrong wrong;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[static_cast<size_t>(i)], half = UlpAt(FormatOf(out), y) / 2;
    EXPECT_NE(RoundTo(FormatOf(out), y), y) << id << " element " << i << " is no tie";
    EXPECT_EQ(std::fmod(std::abs(y), 2 * half), half) << id << " element " << i;
    const auto is_wrong = [&](double got) { return test::Accepts(twin, out, i, got) ? 0 : 1; };
    wrong.even += is_wrong(RoundTo(FormatOf(out), y));
    wrong.away += is_wrong(y + std::copysign(half, y));
    wrong.toward_zero += is_wrong(y - std::copysign(half, y));
    wrong.up += is_wrong(y + half);
  }
  return wrong;
}

TEST(TieTwin, ShowsEveryOtherBreakingOfTies) {
  for (const char* id :
       {"matmul/bf16/m=5,n=7,k=64/fill=normal/seed=0", "matmul/f16/m=4,n=4,k=2/fill=normal/seed=0",
        "matmul/f16/b=2,m=5,n=7,k=33,alpha=-1,beta=1,bias=1,transa=1,transb=1/fill=normal/seed=0",
        "matmul/bf16/m=4,n=4,k=64,bias=1,epilogue=rounded/fill=normal/seed=0",
        "matmul/f32-f32-bf16/m=4,n=4,k=17/fill=normal/seed=0", "reduce/bf16/shape=6x4096,axes=1/fill=normal/seed=0",
        "reduce/f16/shape=3x9x4,axes=0+2/fill=normal/seed=0",
        "reduce/bf16/shape=6x64,axes=1,kind=mean/fill=normal/seed=0",
        "reduce/f16/shape=6x5,axes=1,kind=prod/fill=normal/seed=0"}) {
    const Result<Problem> problem = test::TryBind(id);
    if (!problem) continue;  // types that the operator does not have
    const auto twin = TieTwinOf(id, "f32acc");
    ASSERT_TRUE(twin) << id;
    const Wrong wrong = CountWrong(id, *twin);
    EXPECT_EQ(wrong.even, 0) << id;
    EXPECT_GT(wrong.away, 0) << id;
    EXPECT_GT(wrong.toward_zero, 0) << id;
    EXPECT_GT(wrong.up, 0) << id;
  }
}

// Where a contract has ties go away from zero, to even is wrong.
TEST(TieTwin, OfTiesAwayFromZeroShowThoseToEven) {
  for (const char* id :
       {"matmul/bf16/m=5,n=7,k=64/fill=normal/seed=0", "matmul/f16/m=4,n=4,k=33,alpha=-1/fill=normal/seed=0",
        "conv/bf16/n=2,c=4,o=3,i=6,k=3,pad=1/fill=normal/seed=0",
        "reduce/bf16/shape=6x64,axes=1,kind=mean/fill=normal/seed=0",
        "reduce/f16/shape=6x5,axes=1,kind=prod/fill=normal/seed=0", "cumsum/f16/rows=3,n=100/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    const std::vector<Twin> twins = test::TwinsOf(problem, "f32acc;out=rna");
    ASSERT_FALSE(twins.empty()) << id;
    const Twin& twin = twins.back();
    const Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, twin.inputs, Tier::kReproducible);
    const DType out = problem.outputs[0].dtype;
    int64_t away = 0, even = 0;
    for (int64_t i = 0; i < golden.size(); ++i) {
      const double y = golden.value[static_cast<size_t>(i)];
      away += test::Accepts(twin, out, i, RoundTiesAway(FormatOf(out), y)) ? 0 : 1;
      even += test::Accepts(twin, out, i, RoundTo(FormatOf(out), y)) ? 0 : 1;
    }
    EXPECT_EQ(away, 0) << id;
    EXPECT_GT(even, 0) << id;
  }
}

TEST(TieTwin, IntegersHaveNone) {
  for (const char* id :
       {"matmul/i8-i8-i32/m=4,n=4,k=64/fill=uniform/seed=0", "conv/i8-i8-i32/n=1,c=4,o=3,i=6,k=3/fill=uniform/seed=0",
        "reduce/i8-i32/shape=6x64,axes=1/fill=uniform/seed=0",
        "reduce/i8-i8/shape=6x64,axes=1,kind=max/fill=uniform/seed=0",
        "reduce/f32-i64/shape=6x64,axes=1,kind=argmax/fill=uniform/seed=0"}) {
    EXPECT_FALSE(TieTwinOf(id, "acc=i32")) << id;
    EXPECT_FALSE(TieTwinOf(id, "acc=f32")) << id;
  }
}

TEST(TieTwin, OnlyWhereTiesGoToEven) {
  const std::string id = "matmul/f16/m=4,n=4,k=64/fill=normal/seed=0";
  EXPECT_TRUE(TieTwinOf(id, "f32acc"));
  for (const char* contract : {"f32acc;out=rz", "f32acc;out=any", "f16acc", "f32acc;mid=f16", "acc=tc<11,4>"}) {
    EXPECT_FALSE(TieTwinOf(id, contract)) << contract;
  }
  EXPECT_FALSE(TieTwinOf("matmul/f32/m=4,n=4,k=64/fill=normal/seed=0", "f32"));
  EXPECT_FALSE(TieTwinOf("matmul/f16/m=4,n=4,k=64,alpha=0.5/fill=normal/seed=0", "f32acc"));
  EXPECT_FALSE(TieTwinOf("conv/bf16/n=1,c=4,o=3,i=6,k=3,pad=1/fill=normal/seed=0", "f32acc;alg=winograd<2,3>"));
  EXPECT_FALSE(TieTwinOf("matmul/f16/m=4,n=4,k=1/fill=normal/seed=0", "f32acc"));
  EXPECT_FALSE(TieTwinOf("reduce/f16/shape=4x60,axes=1,kind=mean/fill=normal/seed=0", "f32acc"));
  EXPECT_FALSE(TieTwinOf("reduce/f16/shape=4x64,axes=1,kind=mean/fill=normal/seed=0", "f32acc;math=2"));
}

// An operator that rounds its results: how its twins show which way ties go, or why it has none.
struct OperatorTies {
  const char* op;
  const char* id;     // of a case with ties; "": there are none
  size_t output = 0;  // that has them
};
constexpr const char* kFunctions = "";  // a function's own error reaches both neighbours
constexpr const char* kCopies = "";     // results are elements of the input, or their places
constexpr const char* kWide = "";       // no output is narrower than the sums
constexpr OperatorTies kOperators[] = {
    {"adaptive_avg_pool", kFunctions},
    {"add", "add/bf16/n=70/fill=normal/seed=0"},
    {"alibi_attention", kFunctions},
    {"all_gather", kCopies},
    {"all_reduce", "all_reduce/bf16/ranks=9,n=70/fill=normal/seed=0"},
    {"argsort", kCopies},
    {"associative_scan", "associative_scan/bf16/rows=3,n=20/fill=normal/seed=0"},
    {"attention", kFunctions},
    {"attention_backward", kFunctions},
    {"attention_lse", kFunctions},
    {"avg_pool", kFunctions},
    {"batch_norm", kFunctions},
    {"batch_norm_training", kFunctions},
    {"causal_conv1d", "causal_conv1d/bf16/b=2,c=3,l=20,k=4/fill=normal/seed=0"},
    {"clamped_swiglu", kFunctions},
    {"concat", kCopies},
    {"conv", "conv/bf16/n=2,c=4,o=3,i=6,k=3,pad=1/fill=normal/seed=0"},
    {"conv_backward_data", "conv_backward_data/bf16/n=2,c=4,o=3,h=6,w=6,k=3,pad=1/fill=normal/seed=0"},
    {"conv_backward_weights", "conv_backward_weights/bf16/n=2,c=4,o=3,h=6,w=6,k=3,pad=1/fill=normal/seed=0"},
    {"conv_transpose", "conv_transpose/bf16/n=2,c=4,o=3,h=6,w=6,k=3,pad=1/fill=normal/seed=0"},
    {"cross_entropy", kFunctions},
    {"cross_entropy_backward", kFunctions},
    {"cumsum", "cumsum/f16/rows=3,n=100/fill=normal/seed=0"},
    {"dequantize", "dequantize/u8-f32-u8-bf16/rows=3,n=70,per=row/fill=normal/seed=0"},
    {"dropout", kFunctions},
    {"embedding", kCopies},
    {"embedding_backward", "embedding_backward/bf16-i64-bf16/v=5,n=30,d=7/fill=normal/seed=0"},
    {"fft", kWide},
    {"fft_conv", kFunctions},
    {"flip", kCopies},
    {"floor_divide", kWide},
    {"fma", "fma/f16/n=70/fill=normal/seed=0"},
    {"fused_add_rms_norm", "fused_add_rms_norm/bf16/rows=3,n=20/fill=normal/seed=0", 1},
    {"gated_delta_rule", kFunctions},
    {"gated_delta_step", "gated_delta_step/bf16/b=1,h=2,d=8,dv=20/fill=normal/seed=0"},
    {"gather", kCopies},
    {"gelu", kFunctions},
    {"gelu_and_mul", kFunctions},
    {"gelu_backward", kFunctions},
    {"grid_sample", kFunctions},
    {"group_norm", kFunctions},
    {"grouped_gemm", "grouped_gemm/bf16-bf16-i32-bf16/rows=9,k=40,groups=3,n=5/fill=normal/seed=0"},
    {"index_select", kCopies},
    {"instance_norm", kFunctions},
    {"kl_div", kFunctions},
    {"kv_cache_write", kCopies},
    {"layer_norm", kFunctions},
    {"layer_norm_backward", "layer_norm_backward/f16-f16-f32-f32-f16-f16/rows=9,n=20/fill=normal/seed=0", 2},
    {"linear_attention", "linear_attention/bf16/b=1,h=2,l=20,d=8,dv=8/fill=normal/seed=0"},
    {"llm_int8_mm", "llm_int8_mm/f16-i8-i8-f32-f32-bool-f16/m=3,k=40,n=9/fill=normal/seed=0"},
    {"log_softmax_backward", kFunctions},
    {"lp_pool", kFunctions},
    {"lse_merge", kFunctions},
    {"masked_fill", kCopies},
    {"matmul", "matmul/f16/m=5,n=7,k=64/fill=normal/seed=0"},
    {"max_pool", kCopies},
    {"min_p_mask", kFunctions},
    {"moe_fused", kFunctions},
    {"moe_permute", kCopies},
    {"moe_route", kFunctions},
    {"moe_unpermute", "moe_unpermute/f16-i64-f16-f16/rows=9,t=5,k=3,d=9/fill=normal/seed=0"},
    {"mse", kFunctions},
    {"mx_mm", kFunctions},
    {"one_hot", kCopies},
    {"pad", kCopies},
    {"paged_decode", kFunctions},
    {"philox", kWide},
    {"philox_uniform", kWide},
    {"pow", kFunctions},
    {"quantize", "quantize/f32-f32-i8/rows=3,n=70/fill=normal/seed=0"},
    {"ragged_attention", kFunctions},
    {"reduce", "reduce/bf16/shape=6x64,axes=1/fill=normal/seed=0"},
    {"reduce_scatter", "reduce_scatter/f16/ranks=8,n=72/fill=normal/seed=0"},
    {"requantize", "requantize/i32-f32-i8/rows=3,n=70/fill=normal/seed=0"},
    {"resize", kFunctions},
    {"rms_norm", kFunctions},
    {"rms_norm_backward", kFunctions},
    {"roll", kCopies},
    {"rope", "rope/bf16/b=1,l=3,h=2,d=8/fill=normal/seed=0"},
    {"rope_backward", "rope_backward/bf16/b=1,l=3,h=2,d=8/fill=normal/seed=0"},
    {"scaled_mm", "scaled_mm/i8-i8-f32-f32-bf16/m=5,k=40,n=7/fill=normal/seed=0"},
    {"scatter_add", "scatter_add/bf16-i64-bf16-bf16/rows=5,n=9,d=7/fill=normal/seed=0"},
    {"selective_scan", kFunctions},
    {"silu_and_mul", kFunctions},
    {"sink_attention", kFunctions},
    {"silu_and_mul_backward", kFunctions},
    {"softmax", kFunctions},
    {"softmax_backward", "softmax_backward/f16/rows=3,n=20/fill=normal/seed=0"},
    {"sort", kCopies},
    {"sparse_mm", "sparse_mm/bf16-u8-bf16-bf16/m=3,k=40,n=9/fill=normal/seed=0"},
    {"stft", kFunctions},
    {"stochastic_round", kFunctions},
    {"sub", "sub/f16/n=70/fill=normal/seed=0"},
    {"take_along_axis", kCopies},
    {"top_k", kCopies},
    {"top_p_mask", kFunctions},
    {"transpose", kCopies},
    {"trilu", kCopies},
    {"w4a16_mm", "w4a16_mm/bf16-u8-bf16-u8-bf16/rows=4,k=64,groups=2,n=5/fill=normal/seed=0"},
};

// Rows of tables (ops/defs/elementwise.cc and activations.cc). Of the first a function's own error reaches both
// neighbours, as it does with a division; of the second results are exact.
constexpr std::string_view kElementwiseFunctions =
    "acos acosh asin asinh atan atanh cbrt celu cos cosh div elu erf erfc exp exp2 expm1 hardsigmoid hardswish "
    "leaky_relu "
    "log log10 log1p log2 logsigmoid mish quick_gelu reciprocal rsqrt selu sigmoid silu sin sinh softcap softplus "
    "softsign "
    "sqrt tan tanh";
constexpr std::string_view kExactElements =
    "abs cast ceil clip equal floor greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not "
    "logical_or logical_xor maximum minimum neg not_equal relu relu6 round sign trunc where";
constexpr std::string_view kProducts = "cumprod mul prelu square";

// Ties that a twin decides: results that take them away from zero, and toward it, are wrong there.
Wrong CountDecided(const Problem& problem, size_t output, const Twin& twin) {
  const DType out = problem.outputs[output].dtype;
  const Golden golden = Op(problem.spec.op).ComputeGolden(problem, output, twin.inputs, Tier::kReproducible);
  Wrong wrong;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[static_cast<size_t>(i)];
    const double even = IsFloat(out) ? RoundTo(FormatOf(out), y) : std::nearbyint(y);
    const double half = (IsFloat(out) ? UlpAt(FormatOf(out), y) : 1) / 2;
    if (std::abs(y - even) != half) continue;
    if (!test::Accepts(twin, out, i, even)) ++wrong.even;
    if (!test::Accepts(twin, out, i, y + std::copysign(half, y))) ++wrong.away;
    if (!test::Accepts(twin, out, i, y - std::copysign(half, y))) ++wrong.toward_zero;
  }
  return wrong;
}

TEST(TieTwin, EveryOperatorThatRoundsExactResultsHasOne) {
  std::vector<std::string> listed, all;
  for (const OperatorTies& entry : kOperators) listed.emplace_back(entry.op);
  for (const std::string_view names : {kElementwiseFunctions, kExactElements, kProducts}) {
    for (const std::string_view name : Split(names, ' ')) listed.emplace_back(name);
  }
  std::ranges::sort(listed);
  for (const Operator* op : OperatorRegistry::Global().All()) all.push_back(op->schema().op);
  EXPECT_EQ(listed, all) << "an operator is missing here: does it round results that can be exact?";
  for (const OperatorTies& entry : kOperators) {
    if (*entry.id == '\0') continue;
    const Problem problem = Bind(entry.id);
    const char* contract = std::string(entry.op) == "quantize" ? "f32acc;math=1" : "f32acc;math=2";
    Wrong decided;
    for (const Twin& twin : test::TwinsOf(problem, contract, entry.output)) {
      const Wrong wrong = CountDecided(problem, entry.output, twin);
      decided.even += wrong.even;
      decided.away += wrong.away;
      decided.toward_zero += wrong.toward_zero;
    }
    EXPECT_EQ(decided.even, 0) << entry.id;
    EXPECT_GT(decided.away, 0) << entry.id;
    EXPECT_GT(decided.toward_zero, 0) << entry.id;
  }
}

// All types and shapes of sums by operators that were not among the first to have ties.
TEST(TieTwin, FormulasHaveThemInEveryShape) {
  for (const char* id : {"cumsum/bf16/rows=1,n=7/fill=normal/seed=0", "cumsum/bf16/rows=300,n=1000/fill=normal/seed=0",
                         "cumsum/f16/rows=2,n=3000/fill=normal/seed=0",
                         "scatter_add/f16-i64-f16-f16/rows=64,n=500,d=3/fill=normal/seed=0",
                         "scatter_add/bf16-i64-bf16-bf16/rows=1,n=2,d=1000/fill=normal/seed=0",
                         "dequantize/e5m2-f32-f16/rows=9,n=9,per=column/fill=normal/seed=0",
                         "dequantize/i8-f32-i8-f16/rows=1,n=50/fill=normal/seed=0",
                         "rope/f16-f32-f32-f16/b=2,l=9,h=2,d=64/fill=normal/seed=0",
                         "softmax_backward/bf16/rows=50,n=500/fill=normal/seed=0",
                         "requantize/f32-f32-u8/rows=3,n=70,per=column,zero=3/fill=normal/seed=0",
                         "requantize/u8-f32-i8/rows=3,n=70/fill=normal/seed=0",
                         "scaled_mm/e4m3-e4m3-f32-f32-f16/m=5,k=40,n=7,per=row/fill=normal/seed=0",
                         "scaled_mm/u8-i8-f32-f32-u8-bf16/m=5,k=40,n=7/fill=normal/seed=0",
                         "w4a16_mm/f16-u8-f32-u8-f16/rows=4,k=64,groups=2,n=5/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    Wrong decided;
    for (const Twin& twin : test::TwinsOf(problem, "f32acc")) {
      const Wrong wrong = CountDecided(problem, 0, twin);
      decided.away += wrong.away;
      decided.toward_zero += wrong.toward_zero;
      EXPECT_EQ(wrong.even, 0) << id;
    }
    EXPECT_GT(decided.away, 0) << id;
    EXPECT_GT(decided.toward_zero, 0) << id;
  }
}

}  // namespace
}  // namespace assay
