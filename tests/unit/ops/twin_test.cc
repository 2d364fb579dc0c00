// SPDX-License-Identifier: Apache-2.0
// Exact twins: every legal schedule gives the expected bits, a missing term never does and is named, and an
// accumulator narrower than declared fails.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ops/binding.h"
#include "ops/exact_code.h"
#include "ops/exact_ties.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/sums.h"

namespace assay::test {
namespace {

using Runner = std::vector<double> (*)(const Problem&, std::span<const Tensor>, const Schedule&, const Arithmetic&);

Runner RunnerOf(const Problem& problem) {
  return problem.spec.op == "matmul" ? RunMatmul : RunReduce;
}

void ExpectEveryScheduleMatches(const Problem& problem, const Contract& contract, const Twin& twin) {
  ASSERT_EQ(std::ssize(twin.expected), NumElements(problem.outputs[0].shape));
  ASSERT_EQ(twin.inputs.size(), problem.inputs.size());
  for (const Schedule& schedule : AllSchedules(7)) {
    const std::vector<double> got = RunnerOf(problem)(problem, twin.inputs, schedule, ArithmeticOf(contract));
    for (int64_t i = 0; i < std::ssize(got); ++i) {
      ASSERT_TRUE(Accepts(twin, problem.outputs[0].dtype, i, got[i]))
          << "order " << static_cast<int>(schedule.order) << " element " << i << ": " << got[i] << " instead of "
          << twin.expected[i];
      if (twin.tolerance_ulp == 0) {
        ASSERT_NE(twin.expected[i], 0) << "an unwritten zero would pass";
      }
    }
  }
}

std::optional<Twin> MakeTwinOf(const Problem& problem, const char* declaration, int variant) {
  return Op(problem.spec.op).MakeTwin(problem, 0, Declared(declaration), variant);
}

struct TwinTypes {
  const char* dtypes;
  const char* declaration;
};

constexpr TwinTypes kMatmulTypes[] = {{"f64", "acc=f64"},
                                      {"f32", "acc=f32"},
                                      {"f32", "in=tf32rz;acc=f32"},
                                      {"f32", "in=bf16;acc=f32;ftz=all"},
                                      {"f32", "in=bf16x3;acc=f32"},
                                      {"f16", "acc=f32"},
                                      {"f16", "acc=f16"},
                                      {"bf16", "acc=f32"},
                                      {"bf16-bf16-f32", "acc=f32"},
                                      {"bf16-bf16-f32", "acc=tc<24,8>"},
                                      {"e4m3-e4m3-f32", "acc=tc<13,32>"},
                                      {"e4m3-e4m3-bf16", "acc=f32"},
                                      {"e5m2-e5m2-f16", "acc=f32"},
                                      {"i8-i8-i32", "acc=i32"}};

TEST(MatmulTwin, EveryLegalScheduleGivesTheExpectedBits) {
  for (const TwinTypes& type : kMatmulTypes) {
    for (int64_t k : {1, 2, 3, 64, 65, 1000}) {
      for (const char* extra :
           {"", ",batch=2,transa=1", ",transb=1,alpha=-2,beta=0.5,bias=1", ",alpha=0.25,bias=1,epilogue=rounded"}) {
        if (type.dtypes[0] == 'i' && std::string_view(extra).find("alpha") != std::string_view::npos) continue;
        const std::string id = fmt::format("matmul/{}/m=3,n=5,k={}{}/fill=normal/seed=0", type.dtypes, k, extra);
        SCOPED_TRACE(id + " " + type.declaration);
        const Problem problem = Bind(id);
        for (int variant : {0, 1}) {
          const std::optional<Twin> twin = MakeTwinOf(problem, type.declaration, variant);
          const bool narrow = std::string_view(type.declaration) == "acc=f16";
          if (!twin && (narrow || extra[0] != 0)) continue;  // no room
          ASSERT_TRUE(twin.has_value());
          ExpectEveryScheduleMatches(problem, Declared(type.declaration), *twin);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Reads k back from a wrong result, as the twin's code says.
TEST(MatmulTwin, AMissingTermChangesTheBitsAndIsNamed) {
  for (const TwinTypes& type : kMatmulTypes) {
    for (int64_t k : {64, 65, 1000}) {
      const Problem problem = Bind(fmt::format("matmul/{}/m=2,n=2,k={}/fill=normal/seed=0", type.dtypes, k));
      SCOPED_TRACE(problem.spec.Id() + " " + type.declaration);
      std::set<std::pair<int64_t, int64_t>> names;
      std::vector<std::pair<int64_t, int64_t>> codes(static_cast<size_t>(k));
      for (int variant : {0, 1}) {
        const std::optional<Twin> twin = MakeTwinOf(problem, type.declaration, variant);
        ASSERT_TRUE(twin.has_value());
        const MatmulArgs op(problem);
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t omitted = 0; omitted < k; ++omitted) {
            const double term = ValueAt(twin->inputs[0], op.OffsetInA(0, i / 2, omitted)) *
                                ValueAt(twin->inputs[1], op.OffsetInB(0, omitted, i % 2));
            const double wrong = twin->expected[i] - term;
            const DType out = problem.outputs[0].dtype;
            const double stored = IsInt(out) ? wrong : RoundTo(FormatOf(out), wrong);
            ASSERT_NE(stored, twin->expected[i]) << omitted;
            ASSERT_EQ(stored, wrong) << "a faulty result must be readable";
            const std::vector<int64_t> named = twin->terms_of(i, twin->expected[i] - stored);
            ASSERT_THAT(named, testing::Contains(omitted));
            (variant == 0 ? codes[omitted].first : codes[omitted].second) = named[0];  // terms alike have the same
          }
        }
      }
      for (const auto& pair : codes) names.insert(pair);
      const bool few_codes = std::string_view(type.declaration) == "acc=f16" ||
                             std::string_view(type.declaration).starts_with("acc=tc<13") || type.dtypes[0] == 'e' ||
                             std::string_view(type.dtypes) == "bf16";
      if (!few_codes || k < 100) {
        EXPECT_EQ(std::ssize(names), k) << "both digits together name every k";
      }
      EXPECT_GE(std::ssize(names), 6);
    }
  }
}

// Share of schedules that fail with a narrow accumulator. Only orders that follow k count: in a random order small
// terms never add up to more than it holds.
double WrongShare(const Problem& problem, const Twin& twin, DType accumulator) {
  int wrong = 0, total = 0;
  for (const Schedule& schedule : AllSchedules(3)) {
    if (schedule.order == Order::kRandom || schedule.order == Order::kLanes) continue;
    const std::vector<double> got =
        RunnerOf(problem)(problem, twin.inputs, schedule, Arithmetic{.format = accumulator});
    const bool fails = !std::ranges::equal(got, twin.expected);
    wrong += fails ? 1 : 0;
    ++total;
  }
  return static_cast<double>(wrong) / total;
}

TEST(MatmulTwin, NarrowAccumulatorsFail) {
  for (const char* dtypes : {"f32", "f16", "bf16", "f16-f16-f32", "bf16-bf16-f32"}) {
    for (int64_t k : {64, 65, 1000}) {
      const Problem problem = Bind(fmt::format("matmul/{}/m=8,n=8,k={}/fill=normal/seed=0", dtypes, k));
      SCOPED_TRACE(problem.spec.Id());
      for (int variant : {0, 1}) {
        const std::optional<Twin> twin = MakeTwinOf(problem, "acc=f32", variant);
        ASSERT_TRUE(twin.has_value());
        EXPECT_EQ(WrongShare(problem, *twin, DType::kF16), 1);
        EXPECT_EQ(WrongShare(problem, *twin, DType::kBF16), 1);
      }
    }
  }
}

TEST(MatmulTwin, NoneWhereExactnessCannotBePromised) {
  const auto none = [](const char* attrs, const char* types, const char* declaration) {
    return !MakeTwinOf(Bind(fmt::format("matmul/{}/{}/fill=normal/seed=0", types, attrs)), declaration, 0).has_value();
  };
  EXPECT_TRUE(none("m=2,n=2,k=8192", "f16", "acc=f16"));
  EXPECT_FALSE(none("m=2,n=2,k=8192", "f16", "acc=f32"));
  EXPECT_TRUE(none("m=2,n=2,k=8,alpha=0.3", "f32", "acc=f32"));
  EXPECT_FALSE(none("m=2,n=2,k=8,alpha=0.375", "f32", "acc=f32"));
  EXPECT_TRUE(none("m=2,n=2,k=8", "f32", "acc=f32;alg=winograd<2,3>"));
  EXPECT_FALSE(none("m=2,n=2,k=131071", "i8-i8-i32", "acc=i32"));
}

TEST(ReduceTwin, EveryLegalScheduleGivesTheExpectedResult) {
  int made = 0;
  for (const TwinTypes& type :
       {TwinTypes{"f64", "acc=f64"}, TwinTypes{"f32", "acc=f32"}, TwinTypes{"f32", "acc=f32;math=2"},
        TwinTypes{"f16", "acc=f32"}, TwinTypes{"f16", "acc=f16"}, TwinTypes{"bf16", "acc=f32"},
        TwinTypes{"bf16-f32", "acc=f32;ftz=all"}}) {
    for (const char* kind : {"sum", "mean", "prod", "l2", "logsumexp"}) {
      for (const char* shape : {"4x1", "4x2", "4x64", "4x65", "4x1000"}) {
        const std::string key = std::string_view(kind) == "sum" ? "" : fmt::format(",kind={}", kind);
        const Problem problem =
            Bind(fmt::format("reduce/{}/shape={},axes=1{}/fill=normal/seed=0", type.dtypes, shape, key));
        SCOPED_TRACE(problem.spec.Id() + " " + type.declaration);
        for (int variant : {0, 1}) {
          const std::optional<Twin> twin = MakeTwinOf(problem, type.declaration, variant);
          if (!twin) continue;
          ++made;
          ExpectEveryScheduleMatches(problem, Declared(type.declaration), *twin);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(made, 250);
}

TEST(ReduceTwin, AMissingTermIsSeen) {
  for (const char* kind : {"sum", "mean", "prod", "l2", "logsumexp"}) {
    for (const char* dtypes : {"f64", "f32", "bf16"}) {
      for (int64_t k : {64, 65, 1000}) {
        const std::string key = std::string_view(kind) == "sum" ? "" : fmt::format(",kind={}", kind);
        const Problem problem = Bind(fmt::format("reduce/{}/shape=3x{},axes=1{}/fill=normal/seed=0", dtypes, k, key));
        SCOPED_TRACE(problem.spec.Id());
        const ReduceArgs op(problem);
        const DType out = problem.outputs[0].dtype;
        const char* declaration = out == DType::kF64 ? "acc=f64" : "acc=f32";
        const Arithmetic exact{.format = DType::kF64};
        std::vector<int> shown(static_cast<size_t>(k));
        const int variants = Op("reduce").TwinVariants(problem, 0, Declared(declaration));
        for (int variant = 0; variant < variants; ++variant) {
          const std::optional<Twin> twin = MakeTwinOf(problem, declaration, variant);
          ASSERT_TRUE(twin.has_value());
          if (twin->code.find("half way") != std::string::npos) continue;  // not exact in the output
          const Problem shorter =
              Bind(fmt::format("reduce/{}/shape=1x{},axes=1{}/fill=normal/seed=0", dtypes, k - 1, key));
          for (int64_t omitted = 0; omitted < k; ++omitted) {
            std::vector<double> row = op.Row(twin->inputs[0], omitted % 3);
            // Long rows of an l2 show some terms in each variant.
            if (op.kind == ReduceKind::kL2 && row[omitted] == 0) continue;
            ++shown[omitted];
            row.erase(row.begin() + omitted);
            std::vector<Tensor> inputs;
            inputs.emplace_back(shorter.inputs[0].dtype, shorter.inputs[0].shape);
            inputs[0].SetDoubles(row);
            double wrong = RunReduce(shorter, inputs, {}, exact)[0];
            if (op.kind == ReduceKind::kMean) wrong *= static_cast<double>(k - 1) / static_cast<double>(k);
            ASSERT_FALSE(Accepts(*twin, out, omitted % 3, RoundTo(FormatOf(out), wrong))) << omitted;
          }
        }
        ASSERT_TRUE(std::ranges::all_of(shown, [](int times) { return times > 0; }));
      }
    }
  }
}

struct LongRow {
  const char* id;
  const char* declaration;
  int variants;  // 0: none has the power
};

// Rows too long for one twin: every variant is right under every schedule, shows its terms, and all show all.
TEST(ReduceTwin, LongRowsAreShownInTurn) {
  for (const LongRow& row : {LongRow{"bf16/shape=2x4096,axes=1,kind=l2", "acc=f32;math=1", 16},
                             LongRow{"f16/shape=1x5000,axes=1,kind=l2", "acc=f32;math=1", 5},
                             LongRow{"f32/shape=1x2400000,axes=1,kind=l2", "acc=f32;math=1", 4},
                             LongRow{"f32/shape=2x128256,axes=1,kind=logsumexp", "acc=f32;math=1", 3},
                             LongRow{"bf16/shape=2x5000,axes=1,kind=logsumexp", "acc=f32;math=1", 2},
                             LongRow{"f32/shape=2x1001,axes=1,kind=logsumexp", "acc=f32;math=2", 1},
                             LongRow{"f32/shape=1x128256,axes=1,kind=logsumexp", "acc=f32;math=2", 0},
                             LongRow{"bf16/shape=1x2400000,axes=1,kind=l2", "acc=f32", 0}}) {
    const Problem problem = Bind(fmt::format("reduce/{}/fill=normal/seed=0", row.id));
    SCOPED_TRACE(row.id);
    const ReduceArgs op(problem);
    const Contract contract = Declared(row.declaration);
    const double hidden = op.kind == ReduceKind::kL2 ? 0 : -HUGE_VAL;
    ASSERT_EQ(Op("reduce").TwinVariants(problem, 0, contract), row.variants);
    std::vector<int> shown(static_cast<size_t>(op.terms));
    for (int variant = 0; variant < row.variants; ++variant) {
      const std::optional<Twin> twin = MakeTwinOf(problem, row.declaration, variant);
      ASSERT_TRUE(twin.has_value());
      const std::vector<double> x = op.Row(twin->inputs[0], 0);
      for (int64_t k = 0; k < op.terms; ++k) shown[k] += x[k] == hidden ? 0 : 1;
      if (op.terms < 10000 || variant == 0) ExpectEveryScheduleMatches(problem, contract, *twin);
      // The first shown term goes missing.
      const auto first = std::ranges::find_if(x, [&](double value) { return value != hidden; }) - x.begin();
      const double count = static_cast<double>(std::ranges::count(x, x[first]));
      const double wrong = op.kind == ReduceKind::kL2 ? std::sqrt(twin->expected[0] * twin->expected[0] - 1)
                                                      : twin->expected[0] + std::log1p(-1 / count);
      EXPECT_FALSE(Accepts(*twin, problem.outputs[0].dtype, 0, RoundTo(FormatOf(problem.outputs[0].dtype), wrong)));
    }
    if (row.variants == 0) continue;
    EXPECT_TRUE(std::ranges::all_of(shown, [](int times) { return times > 0; }));
  }
}

// Scaling each term by a rounded 1/K before the sum is a legal mean. On coded integers it stays exact for a power of
// two only; for other lengths see mean_twin_test.cc.
TEST(ReduceTwin, AMeanMayScaleItsTermsFirst) {
  const Problem problem = Bind("reduce/f32/shape=4x64,axes=1,kind=mean/fill=normal/seed=0");
  const std::optional<Twin> twin = MakeTwinOf(problem, "acc=f32", 0);
  ASSERT_TRUE(twin.has_value());
  const ReduceArgs op(problem);
  for (int64_t row = 0; row < 4; ++row) {
    float sum = 0;
    for (const double x : op.Row(twin->inputs[0], row)) sum += static_cast<float>(x) * (1.0f / 64.0f);
    EXPECT_TRUE(Accepts(*twin, DType::kF32, row, sum));
  }
}

TEST(ReduceTwin, NarrowAccumulatorsFailAndIntegersAreExact) {
  const Problem problem = Bind("reduce/f32/shape=8x1000,axes=1/fill=normal/seed=0");
  const std::optional<Twin> twin = MakeTwinOf(problem, "acc=f32", 0);
  ASSERT_TRUE(twin.has_value());
  EXPECT_EQ(WrongShare(problem, *twin, DType::kF16), 1);
  EXPECT_EQ(WrongShare(problem, *twin, DType::kBF16), 1);
  const Problem integers = Bind("reduce/i8-i32/shape=8x1000,axes=1/fill=normal/seed=0");
  const std::optional<Twin> exact = MakeTwinOf(integers, "acc=i32", 1);
  ASSERT_TRUE(exact.has_value());
  ExpectEveryScheduleMatches(integers, Declared("acc=i32"), *exact);
  EXPECT_FALSE(MakeTwinOf(Bind("reduce/f32/shape=8,axes=0,kind=max/fill=normal/seed=0"), "acc=f32", 0).has_value());
}

TEST(ExactCode, TermsSumToOneAndDescribeThemselves) {
  for (int64_t terms : {1, 2, 3, 4, 5, 64, 65, 4096}) {
    const auto code =
        ExactCode::Plan({.terms = terms, .first = 2048, .second = 2048, .partial = 0x1p24, .result = 0x1p24});
    ASSERT_TRUE(code.has_value());
    for (int variant : {0, 1}) {
      int64_t sum = 0;
      for (int64_t k = 0; k < terms; ++k) {
        EXPECT_NE(code->Term(k, variant), 0);
        sum += code->Term(k, variant);
      }
      EXPECT_EQ(sum, 1) << terms;
      EXPECT_FALSE(code->Describe(variant).empty());
    }
  }
}

}  // namespace
}  // namespace assay::test
