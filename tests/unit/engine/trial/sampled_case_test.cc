// SPDX-License-Identifier: Apache-2.0
// A case whose outputs are judged at chosen places is executed whole: faults at these places are found and named where
// they are, and the other elements show whether they were written and whether their bits stay.
#include <gmock/gmock.h>

#include <set>

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr const char* kProduct = "matmul/f32/m=300,n=200,k=16/fill=normal/seed=0";

class SampledCase : public EngineTest {
 protected:
  SampledCase() : EngineTest(kProduct) {
    data_ = PrepareCase(*planned_.Bound(), "auto", GoldenStore({}), MemoryUse::kRun, {.sample = 400}).value();
  }

  const OutputSample& sample() const { return data_.whole->sample; }
  Attempt JudgeWhere(const Deed& deed, int first = 0, int last = 9) {
    session_->behave = Doing(deed, [=](const FakeCall& call) {
      return call.what == Asked::kExecute && call.number >= first && call.number <= last;
    });
    return Judge();
  }
  // An element of the whole that is not judged.
  size_t FindUnjudged() const {
    std::set<int64_t> judged;
    for (int64_t i = 0; i < sample().judged; ++i) judged.insert(sample().ElementOf(0, i));
    int64_t element = 0;
    while (judged.contains(element)) ++element;
    return static_cast<size_t>(element);
  }
};

TEST_F(SampledCase, IsExecutedWholeAndSaysWhatShareWasJudged) {
  const Attempt attempt = Judge();
  const Record& r = attempt.record;
  EXPECT_EQ(r.verdict, "pass") << r.reason;
  EXPECT_EQ(r.case_id, kProduct);
  EXPECT_EQ(r.reason, "judged 400 of 60,000 elements, drawn by seed " + std::to_string(*r.sample_seed));
  EXPECT_EQ(r.sample_judged, 400);
  EXPECT_EQ(r.sample_elements, 60000);
  EXPECT_EQ(r.elements, 60000);
  EXPECT_EQ(r.flops, data_.executed().flops);
  EXPECT_EQ(r.layouts, "skipped: a sample is judged");
  EXPECT_EQ(r.twin, true);
  EXPECT_EQ(session_->CallsOf(Asked::kExecute).size(), 4U);
  for (const FakeCall& call : session_->calls) EXPECT_EQ(call.case_id, kProduct);
  ExpectNoPlanLeft();
}

TEST_F(SampledCase, AWrongElementAmongTheJudgedIsFoundAndNamedInTheWhole) {
  const int64_t element = sample().ElementOf(0, 137);
  const Record r = JudgeWhere({.wrong = true, .element = static_cast<size_t>(element)}, 0, 1).record;
  EXPECT_EQ(r.verdict, "mismatch");
  EXPECT_EQ(r.worst_index, element);
  const std::string place = IndexText({300, 200}, element);
  EXPECT_THAT(r.reason, HasSubstr("worst element " + place));
  EXPECT_THAT(r.reason, HasSubstr("judged 400 of 60,000 elements"));
  EXPECT_THAT(r.worst_errors, testing::StartsWith(place + ":"));
}

// Inputs have the twin's numbers at the sampled slices, so that right results there are the twin's.
TEST_F(SampledCase, AWrongElementOfATwinIsFoundAmongTheJudged) {
  for (const int twin : {2, 3}) {
    session_->calls.clear();
    const auto element = static_cast<size_t>(sample().ElementOf(0, 211));
    const Attempt attempt = JudgeWhere({.wrong = true, .element = element}, twin, twin);
    EXPECT_EQ(attempt.record.verdict, "mismatch");
    ASSERT_EQ(attempt.kept.size(), 1U);
    EXPECT_EQ(attempt.kept[0].outputs[0].size(), 400);
    EXPECT_THAT(attempt.record.reason, HasSubstr(IndexText({300, 200}, static_cast<int64_t>(element))));
  }
}

TEST_F(SampledCase, AWrongElementThatIsNotJudgedIsNotFound) {
  EXPECT_EQ(JudgeWhere({.wrong = true, .element = FindUnjudged()}).verdict, Verdict::kPass);
}

TEST_F(SampledCase, AnElementThatIsNotWrittenIsNamedWhereverItIs) {
  const size_t element = FindUnjudged();
  const Attempt attempt = JudgeWhere({.unwritten = true, .element = element});
  EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
  EXPECT_TRUE(attempt.memory_fault);
  EXPECT_THAT(attempt.record.reason, HasSubstr("1 of 60000 elements of y were not written, the first is " +
                                               IndexText({300, 200}, static_cast<int64_t>(element))));
}

TEST_F(SampledCase, BitsOfAllElementsAreCompared) {
  const Deed deed{.other_bits = true, .element = FindUnjudged()};
  const Attempt attempt = JudgeWhere(deed, 1, 1);
  EXPECT_EQ(attempt.verdict, Verdict::kPass);
  EXPECT_EQ(attempt.record.deterministic, false);
  session_->calls.clear();
  EXPECT_NE(attempt.record.output_hash, JudgeWhere(deed, 0, 0).record.output_hash);
}

// They fail nothing, as nobody knows which are right: the answer says that they are there.
TEST_F(SampledCase, NanAndInfinitiesThatAreNotJudgedAreCounted) {
  const auto is_said = HasSubstr("one is NaN or infinite among the others");
  const Record r = JudgeWhere({.not_a_number = true, .element = FindUnjudged()}, 0, 1).record;
  EXPECT_EQ(r.verdict, "pass");
  EXPECT_THAT(r.reason, is_said);
  session_->calls.clear();
  const auto judged = static_cast<size_t>(sample().ElementOf(0, 137));
  const Record wrong = JudgeWhere({.not_a_number = true, .element = judged}, 0, 1).record;
  EXPECT_EQ(wrong.verdict, "mismatch");
  EXPECT_THAT(wrong.reason, testing::Not(is_said));
}

TEST_F(SampledCase, IsTimedAndStillSaysWhatShareWasJudged) {
  const Record r = Time().record;
  EXPECT_EQ(r.verdict, "pass") << r.reason;
  EXPECT_EQ(r.time_median_s, 0.001);
  EXPECT_EQ(r.second_set, "same");
  EXPECT_EQ(r.sample_judged, 400);
  ExpectNoPlanLeft();
}

TEST_F(SampledCase, AWrongElementOfATimedRunIsFoundAmongTheJudged) {
  const auto element = static_cast<size_t>(sample().ElementOf(0, 137));
  session_->behave =
      Doing({.wrong = true, .element = element}, [](const FakeCall& call) { return call.what == Asked::kDownload; });
  const Attempt attempt = Time();
  EXPECT_EQ(attempt.record.verdict, "mismatch");
  EXPECT_THAT(attempt.record.reason, HasSubstr("in the timed loop, after passing: "));
  ASSERT_EQ(attempt.kept.size(), 1U);
  EXPECT_EQ(attempt.kept[0].outputs[0].size(), 400);
  EXPECT_FALSE(attempt.record.time_median_s);
}

class SmallCase : public EngineTest {};

TEST_F(SmallCase, IsJudgedWhole) {
  data_ = PrepareCase(*planned_.Bound(), "auto", GoldenStore({}), MemoryUse::kRun, {.sample = 4}).value();
  EXPECT_FALSE(data_.whole.has_value());
  const Record r = Judge().record;
  EXPECT_FALSE(r.sample_judged.has_value());
  EXPECT_EQ(r.twin, true);
}

}  // namespace
}  // namespace assay::test
