// SPDX-License-Identifier: Apache-2.0
// Several outputs of a real worker, one of them in the memory of an input: what goes up, what comes back, and what is
// noticed of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "harness/exec/observations.h"
#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kRows = 3, kColumns = 5;
constexpr size_t kResidual = 1, kY = 3;  // operands

Problem FusedAdd() {
  Problem problem;
  problem.spec.op = "fused_add_rms_norm";
  problem.inputs = {{"x", DType::kF32, {kRows, kColumns}},
                    {"residual", DType::kF32, {kRows, kColumns}},
                    {"gamma", DType::kF32, {kColumns}}};
  problem.outputs = {{"y", DType::kF32, {kRows, kColumns}}, {"residual_out", DType::kF32, {kRows, kColumns}, 2}};
  problem.attrs = {{"rows", AttrType::kInt, kRows, 0, "", {}},
                   {"n", AttrType::kInt, kColumns, 0, "", {}},
                   {"eps", AttrType::kFloat, 0, 1e-6, "", {}}};
  return problem;
}

class OutputsTest : public testing::Test {
 protected:
  OutputsTest() {
    for (const Operand& input : problem_.inputs) inputs_.emplace_back(input.dtype, input.shape);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto values = inputs_[i].As<float>();
      for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>((k * 7 + i * 3) % 11) - 4;
    }
    for (size_t k = 0; k < sum_.size(); ++k) sum_[k] = inputs_[0].As<float>()[k] + inputs_[1].As<float>()[k];
  }
  InputSet set() const { return {&inputs_[0], &inputs_[1], &inputs_[2]}; }
  float RightY(int64_t row, int64_t column) const {
    float squares = 0;
    for (int64_t j = 0; j < kColumns; ++j) squares += sum_[row * kColumns + j] * sum_[row * kColumns + j];
    return sum_[row * kColumns + column] / std::sqrt(squares / kColumns + 1e-6F) *
           inputs_[2].As<float>()[static_cast<size_t>(column)];
  }
  void ExpectRight(const std::vector<Tensor>& outputs) const {
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_THAT(outputs[1].As<float>(), ElementsAreArray(sum_));
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      EXPECT_NEAR(outputs[0].As<float>()[static_cast<size_t>(i)], RightY(i / kColumns, i % kColumns), 1e-4);
    }
  }
  std::vector<Execution> RunTwice(const std::string& implementation, const LayoutVariant& variant = {}) {
    const Call<Prepared> prepared = session_.Prepare(0, problem_, implementation, variant);
    std::vector<Execution> runs;
    for (const Prefill prefill : {Prefill::kNanPayload, Prefill::kSentinel}) {
      if (!prepared) break;
      Call<Execution> run = session_.Execute(prepared->plan, set(), prefill);
      if (run) runs.push_back(std::move(*run));
    }
    if (runs.size() != 2) ADD_FAILURE() << implementation << " does not run twice";
    runs.resize(2);
    if (prepared) session_.Release(prepared->plan);
    return runs;
  }

  WorkerSession session_{TestOptions(ASSAY_TEST_TWO_OUTPUTS)};
  Problem problem_ = FusedAdd();
  std::vector<Tensor> inputs_;
  std::vector<float> sum_ = std::vector<float>(kRows * kColumns);
};

TEST_F(OutputsTest, AreRightInEveryLayoutWhateverTheInputWasOverwrittenWith) {
  for (const uint32_t alias : {0, 2}) {
    problem_.outputs[1].alias = alias;
    for (const LayoutVariant& variant : {LayoutVariant{}, LayoutVariant{1, 3}, LayoutVariant{.permuted = true}}) {
      for (const Execution& run : RunTwice("ok", variant)) {
        ExpectRight(run.outputs);
        EXPECT_THAT(run.guard_violations, IsEmpty());
        EXPECT_THAT(run.changed_inputs, IsEmpty());
        EXPECT_EQ(run.prefilled, 0);
      }
    }
  }
}

TEST_F(OutputsTest, OneThatIsWrongLeavesTheOtherAsItIs) {
  const std::vector<Execution> runs = RunTwice("wrong_second");
  EXPECT_EQ(runs[0].outputs[1].As<float>().back(), sum_.back() + 1);
  EXPECT_EQ(runs[0].outputs[1].As<float>()[0], sum_[0]);
  EXPECT_NEAR(runs[0].outputs[0].As<float>()[0], RightY(0, 0), 1e-4);
}

TEST_F(OutputsTest, OneThatIsNotWrittenShowsThePrefillOrTheInput) {
  problem_.outputs[1].alias = 0;
  std::vector<Execution> runs = RunTwice("unwritten_second");
  EXPECT_EQ(runs[0].prefilled, kRows * kColumns);
  EXPECT_EQ(FindUnwrittenElements(runs[0].outputs[1], runs[1].outputs[1]).count, kRows * kColumns);
  EXPECT_EQ(FindUnwrittenElements(runs[0].outputs[0], runs[1].outputs[0]).count, 0);
  problem_.outputs[1].alias = 2;
  runs = RunTwice("unwritten_second");
  EXPECT_THAT(runs[1].outputs[1].As<float>(), ElementsAreArray(inputs_[kResidual].As<float>()));
}

TEST_F(OutputsTest, AWriteBehindOneNamesIt) {
  for (const uint32_t alias : {0, 2}) {
    problem_.outputs[1].alias = alias;
    EXPECT_THAT(RunTwice("write_after_second")[0].guard_violations, ElementsAre(HasSubstr("residual_out")));
  }
}

TEST_F(OutputsTest, AnInputThatNoOutputOverwritesHasToStay) {
  const std::vector<Execution> runs = RunTwice("change_input");
  EXPECT_THAT(runs[0].changed_inputs, ElementsAre(HasSubstr("of x")));
}

TEST_F(OutputsTest, ASetIsExecutedAgainOnWhatIsUploadedAgain) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(prepared) << prepared.error().message;
  const uint64_t plan = prepared->plan;
  ASSERT_TRUE(session_.Bind(plan, 2));
  std::vector<Piece> pieces;
  for (size_t set = 0; set < 2; ++set) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::memcpy(session_.Staged(plan, set, i)->data(), inputs_[i].data(), inputs_[i].bytes());
      pieces.push_back({set, i, 0, inputs_[i].bytes()});
    }
    FillWith(PrefillElement(DType::kF32, Prefill::kSentinel), session_.Staged(plan, set, kY).value());
    pieces.push_back({set, kY, 0, inputs_[0].bytes()});
  }
  ASSERT_TRUE(session_.Upload(plan, pieces));
  const size_t order[] = {1, 0};
  ASSERT_TRUE(session_.ExecuteBatch(plan, {.sets = order}));
  Execution first, inputs, without, again;
  ASSERT_TRUE(session_.Download(plan, 0, Part::kOutputs, first));
  ExpectRight(first.outputs);
  ASSERT_TRUE(session_.Download(plan, 0, Part::kInputs, inputs));
  EXPECT_THAT(inputs.changed_inputs, IsEmpty());  // residual is what it has to be

  ASSERT_TRUE(session_.ExecuteBatch(plan, {.sets = order}));
  ASSERT_TRUE(session_.Download(plan, 0, Part::kOutputs, without));
  EXPECT_EQ(without.outputs[1].As<float>()[0], sum_[0] + inputs_[0].As<float>()[0]);
  const Piece renewed[] = {{0, kResidual, 0, inputs_[kResidual].bytes()}};
  ASSERT_TRUE(session_.Upload(plan, renewed));
  ASSERT_TRUE(session_.ExecuteBatch(plan, {.sets = order}));
  ASSERT_TRUE(session_.Download(plan, 0, Part::kOutputs, again));
  ExpectRight(again.outputs);
}

}  // namespace
}  // namespace assay
