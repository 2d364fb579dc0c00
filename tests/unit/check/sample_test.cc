// SPDX-License-Identifier: Apache-2.0
// A sample of a large output has the golden values of its elements, finds what is wrong among them, and says so in
// places of the whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/tools/check/check_case.h"
#include "harness/tools/check/check_text.h"
#include "harness/tools/check/sampled_outputs.h"
#include "harness/tools/check/tensor_set.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

TEST(DrawIndices, HasEndsWantedOnesAndBordersOfBlocks) {
  const std::vector<int64_t> indices = DrawIndices(8192, 64, {77}, 5, 0);
  ASSERT_EQ(indices.size(), 64u);
  EXPECT_TRUE(std::ranges::is_sorted(indices));
  for (const int64_t index : {0, 77, 8191}) EXPECT_TRUE(std::ranges::binary_search(indices, index)) << index;
  for (int64_t block = 16; block < 8192; block *= 2) {
    const auto is_border = [&](int64_t i) {
      return i > 0 && i % block == 0 && std::ranges::binary_search(indices, i - 1);
    };
    EXPECT_TRUE(std::ranges::any_of(indices, is_border)) << block;
  }
  // Others are spread: each eighth of the axis has some.
  for (int64_t part = 0; part < 8; ++part) {
    const auto is_there = [&](int64_t i) { return i / 1024 == part; };
    EXPECT_GE(std::ranges::count_if(indices, is_there), 3) << part;
  }
  EXPECT_NE(indices, DrawIndices(8192, 64, {77}, 6, 0));
  EXPECT_EQ(indices, DrawIndices(8192, 64, {77}, 5, 0));
}

TEST(DrawIndices, AreAllOfAShortAxis) {
  for (const int64_t extent : {3, 17, 100}) EXPECT_EQ(DrawIndices(extent, extent, {}, 1, 0).size(), extent);
}

constexpr const char* kSampled[] = {
    "matmul/f32/m=60,n=50,k=20,transb=1,bias=1/fill=normal/seed=0",
    "matmul/f32/m=20,n=30,k=9,batch=40/fill=normal/seed=0",
    "softmax/f32/shape=8x40x9,axis=1/fill=normal/seed=0",
    "reduce/f32/shape=48x5x40,axes=1/fill=normal/seed=0",
    "conv/f32/n=20,c=4,o=40,i=7x6,k=3x2,pad=1,bias=1/fill=normal/seed=0",
    "attention/f32/b=20,h=4,l=40,s=7,d=8,causal=1/fill=normal/seed=0",
    "fft/c64/kind=c2c,n=16,batch=100/fill=normal/seed=0",
    "layer_norm/f32/rows=100,n=12,stats=1/fill=normal/seed=0",
    "gelu/f32/n=5000/fill=normal/seed=0",
};

// Whether a sample of about so many elements was drawn, whose golden values are then those of the whole.
bool HasValuesOfTheWhole(const Operator& op, const Problem& problem, int64_t elements) {
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  std::vector<Golden> goldens;
  std::vector<Tensor> got;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    goldens.push_back(op.ComputeGolden(problem, k, inputs, Tier::kReproducible));
    got.emplace_back(problem.outputs[k].dtype, problem.outputs[k].shape);
    got[k].SetDoubles(goldens[k].value);
  }
  const auto drawn = DrawSample(op, problem, inputs, got, {.elements = elements, .seed = 3});
  if (!drawn) return false;
  EXPECT_LT(drawn->sample.judged, drawn->sample.elements);
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    const Golden part = op.ComputeGolden(drawn->part.problem, k, drawn->part.inputs, Tier::kReproducible);
    const int64_t parts = IsComplex(got[k].dtype()) ? 2 : 1;
    EXPECT_EQ(part.size(), drawn->got[k].size() * parts);
    for (int64_t i = 0; i < part.size(); ++i) {
      const int64_t there = drawn->sample.ElementOf(k, i / parts) * parts + i % parts;
      const double y = part.value[static_cast<size_t>(i)], whole = goldens[k].value[static_cast<size_t>(there)];
      EXPECT_TRUE(y == whole || (std::isnan(y) && std::isnan(whole))) << k << " " << i << ": " << y << " " << whole;
    }
  }
  return true;
}

TEST(SampleOfCase, HasTheGoldenValuesOfItsElements) {
  for (const char* id : kSampled) {
    SCOPED_TRACE(id);
    const Problem problem = Bind(id);
    EXPECT_TRUE(HasValuesOfTheWhole(Op(problem.spec.op), problem, 300));
  }
}

TEST(SampleOfCase, HasThemWhateverTheOperator) {
  int64_t drawn = 0, cases = 0;
  for (const Operator* op : OperatorRegistry::Global().All()) {
    for (const CaseSpec& spec : op->FewCases()) {
      SCOPED_TRACE(spec.Id());
      drawn += HasValuesOfTheWhole(*op, op->Bind(spec).value(), 1) ? 1 : 0;
      ++cases;
    }
  }
  EXPECT_GT(drawn, cases / 2) << cases;
}

TEST(SampleOfCase, IsNoneWhereNoSliceStandsAlone) {
  const Problem problem = Bind("softmax/f32/shape=5000/fill=normal/seed=0");
  const Operator& op = Op("softmax");
  std::vector<Tensor> got;
  got.emplace_back(DType::kF32, problem.outputs[0].shape);
  got[0].SetDoubles(std::vector<double>(5000));
  EXPECT_FALSE(DrawSample(op, problem, op.MakeInputs(problem), got, {.elements = 100, .seed = 1}).has_value());
}

// Products of 300 x 200, of which 400 elements are judged; `damage` is done to the right result.
template <class Damage>
std::pair<UserTensors, CheckResult> JudgeDamaged(const Damage& damage) {
  const Problem problem = Bind("matmul/f32/m=300,n=200,k=16/fill=normal/seed=0");
  const Operator& op = Op("matmul");
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  std::vector<double> values = op.ComputeGolden(problem, 0, inputs, Tier::kReproducible).value;
  damage(values);
  TensorSet set;
  for (size_t i = 0; i < inputs.size(); ++i) set.inputs.push_back({problem.inputs[i].name, std::move(inputs[i])});
  set.outputs.push_back({"y", Tensor(DType::kF32, problem.outputs[0].shape)});
  set.outputs[0].tensor.SetDoubles(values);
  const CheckRequest request{.op = "matmul", .sample = {.elements = 400, .seed = 9}};
  UserTensors user = *BindTensors(request, std::move(set), Asker::kProgram);
  CheckResult result = *JudgeUserCase(request, user, {});
  return {std::move(user), std::move(result)};
}

TEST(JudgedSample, SaysInWordsThatItIsOne) {
  const auto [user, result] = JudgeDamaged([](std::vector<double>&) {});
  const Record& r = result.record;
  EXPECT_EQ(r.verdict, "pass");
  EXPECT_EQ(r.reason, "judged 400 of 60,000 elements, drawn by seed 9");
  EXPECT_EQ(r.sample_judged, 400);
  EXPECT_EQ(r.sample_elements, 60000);
  EXPECT_EQ(r.sample_seed, 9);
  EXPECT_EQ(r.shape, "m=300,n=200,k=16");
  const std::string text = CheckText(user, result);
  EXPECT_TRUE(text.starts_with("pass (bit_exact)  matmul f32 m=300,n=200,k=16, 60000 elements; judged 400 of 60,000 "))
      << text;
}

TEST(JudgedSample, FindsADamagedTileAndSaysWhereInTheWhole) {
  const auto [user, result] = JudgeDamaged([](std::vector<double>& values) {
    for (int64_t i = 128; i < 256; ++i) {
      for (int64_t j = 64; j < 128; ++j) values[static_cast<size_t>(200 * i + j)] *= 1.01;
    }
  });
  const Record& r = result.record;
  EXPECT_EQ(r.verdict, "mismatch");
  ASSERT_TRUE(r.worst_index.has_value());
  const int64_t row = *r.worst_index / 200, column = *r.worst_index % 200;
  EXPECT_TRUE(128 <= row && row < 256 && 64 <= column && column < 128) << row << " " << column;
  const std::string place = IndexText({300, 200}, *r.worst_index);
  EXPECT_NE(r.reason.find("worst element " + place + " got"), std::string::npos) << r.reason;
  EXPECT_NE(r.reason.find("400 judged elements, in "), std::string::npos) << r.reason;
  EXPECT_TRUE(r.worst_elements.starts_with(std::to_string(*r.worst_index) + ":")) << r.worst_elements;
  EXPECT_TRUE(r.worst_errors.starts_with(place + ":")) << r.worst_errors;
  EXPECT_NE(CheckText(user, result).find("  " + place + " "), std::string::npos);
}

TEST(JudgedSample, HasExtremeAndNonFiniteElementsWhereverTheyAre) {
  for (const double value : {1e3, std::numeric_limits<double>::quiet_NaN()}) {
    const auto [user, result] = JudgeDamaged([&](std::vector<double>& values) { values[200 * 171 + 93] = value; });
    EXPECT_EQ(result.record.verdict, "mismatch") << value;
    EXPECT_EQ(result.record.where,
              "1 of " + std::to_string(*result.record.sample_judged) + " judged elements, [171,93]");
  }
}

TEST(JudgedSample, CountsNonFiniteElementsThatItDoesNotJudge) {
  const auto [user, result] = JudgeDamaged([](std::vector<double>& values) {
    for (size_t i = 200 * 100; i < 200 * 101; ++i) values[i] = std::numeric_limits<double>::infinity();
  });
  const OutputSample& sample = *user.sample;
  EXPECT_EQ(sample.unseen, 200 - user.got[0].shape()[1]);
  EXPECT_NE(result.record.reason.find(std::to_string(sample.unseen) + " are NaN or infinite among the others"),
            std::string::npos);
}

TEST(OutputSample, LeavesTextsThatNameNoPlaceOfTheOutput) {
  const auto [user, result] = JudgeDamaged([](std::vector<double>&) {});
  const OutputSample& sample = *user.sample;
  const auto& rows = sample.cuts[0].indices;
  EXPECT_EQ(sample.Relocate(0, "element [3,0] of [7] in [1,2,3]"),
            fmt::format("element [{},0] of [7] in [1,2,3]", rows[3]));
  EXPECT_EQ(sample.Relocate(0, "column 1 of 3 columns"),
            fmt::format("column {} of 3 columns", sample.cuts[1].indices[1]));
  EXPECT_EQ(
      sample.Relocate(0, "the last 3 rows, every 8th column from 5, the 16 x 16 tile at [0,0]"),
      "the last 3 judged rows, every 8th judged column from number 5, the 16 x 16 tile of judged elements at [0,0]");
}

}  // namespace
}  // namespace assay::test
