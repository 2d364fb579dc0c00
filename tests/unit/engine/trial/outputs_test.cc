// SPDX-License-Identifier: Apache-2.0
// Operators with several outputs in the engine: each is judged, the worst decides and is named.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr const char* kFused = "fused_add_rms_norm/f32/rows=4,n=40/fill=normal/seed=0";  // the second one in place
constexpr const char* kStats = "layer_norm/f32/rows=5,n=40,stats=1/fill=normal/seed=0";
constexpr const char* kBackward = "layer_norm_backward/f32/rows=6,n=20/fill=normal/seed=0";

class Outputs : public EngineTest {
 protected:
  Outputs() : EngineTest(kFused) { session_->offer = Offering({{"plain", "f32acc;math=2;det=yes"}}); }

  void Take(const char* id) {
    planned_ = Planned(id);
    data_ = DataOf(planned_);
    session_->calls.clear();
  }
  // Judges the case when executions `first` to `last` misbehave as `deed` says.
  Attempt JudgeWhere(const Deed& deed, int first, int last) {
    session_->behave = Doing(deed, [=](const FakeCall& call) {
      return call.what == Asked::kExecute && call.number >= first && call.number <= last;
    });
    return Judge();
  }
};

TEST_F(Outputs, ThatAreAllRightPass) {
  for (const char* id : {kFused, kStats, kBackward}) {
    Take(id);
    const Attempt attempt = Judge();
    EXPECT_EQ(attempt.record.verdict, "pass") << id << ": " << attempt.record.reason;
    ASSERT_EQ(attempt.record.outputs.size(), data_.problem.outputs.size());
    EXPECT_NE(attempt.record.worst_output, "");
    for (const OutputRecord& output : attempt.record.outputs) {
      EXPECT_EQ(output.verdict, "pass") << id << " " << output.name;
      EXPECT_LE(output.bound_margin, 1) << id << " " << output.name;
    }
    ExpectNoPlanLeft();
  }
}

TEST_F(Outputs, ASingleOneHasNoPartOfItsOwn) {
  Take("layer_norm/f32/rows=5,n=40/fill=normal/seed=0");
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.record.verdict, "pass") << attempt.record.reason;
  EXPECT_TRUE(attempt.record.outputs.empty());
  EXPECT_EQ(attempt.record.worst_output, "");
}

TEST_F(Outputs, OneThatIsWrongDecidesAndIsNamed) {
  const Attempt attempt = JudgeWhere({.wrong = true, .output = 1}, 0, 1);
  const Record& r = attempt.record;
  EXPECT_EQ(r.verdict, "mismatch");
  EXPECT_EQ(r.worst_output, "residual_out");
  EXPECT_THAT(r.reason, HasSubstr("output residual_out: bound channel"));
  EXPECT_GT(r.bound_margin, 1);
  EXPECT_EQ(r.outputs[0].verdict, "pass");
  EXPECT_LE(r.outputs[0].bound_margin, 1);
  EXPECT_EQ(r.outputs[1].verdict, "mismatch");
  EXPECT_EQ(r.outputs[1].bound_margin, r.bound_margin);
  EXPECT_EQ(r.outputs[1].in_place, true);
  ASSERT_EQ(attempt.kept.size(), 1U);
  EXPECT_EQ(attempt.kept[0].outputs.size(), 2U);
}

// The first two executions are of the case's own inputs; then come the twins of the outputs that have some.
TEST_F(Outputs, OneThatIsWrongOnTheDataOfItsTwinIsAMismatch) {
  Take(kStats);
  const Attempt right = Judge();
  const auto executions = static_cast<int>(session_->CallsOf(Asked::kExecute).size());
  EXPECT_GE(executions, 5);
  session_->calls.clear();
  bool seen = false;
  for (int number = 2; number < executions; ++number) {
    session_->calls.clear();
    const Attempt attempt = JudgeWhere({.wrong = true, .output = 1}, number, number);
    seen = seen || (attempt.record.verdict == "mismatch" && attempt.record.worst_output == "mean");
  }
  EXPECT_TRUE(seen);
}

TEST_F(Outputs, BitsThatChangeInOneAreNoticed) {
  const Attempt attempt = JudgeWhere({.other_bits = true, .output = 1}, 1, 1);
  EXPECT_EQ(attempt.record.verdict, "nondeterministic");
  EXPECT_EQ(attempt.record.worst_output, "residual_out");
  EXPECT_EQ(attempt.record.deterministic, false);
  EXPECT_EQ(attempt.record.outputs[0].deterministic, true);
}

// The other data of the loop are another seed's: no twin says what all outputs are.
TEST_F(Outputs, OfATimedLoopAreJudgedOnOtherDataToo) {
  for (const char* id : {kFused, kStats, kBackward}) {
    Take(id);
    settings_.perf_time_s = 0.05;
    const Attempt attempt = Time();
    EXPECT_EQ(attempt.verdict, Verdict::kPass) << id << ": " << attempt.reason;
    EXPECT_THAT(attempt.record.second_set, HasSubstr("seed=1")) << id;
    EXPECT_EQ(attempt.record.timing_invalid, "") << id;
    EXPECT_TRUE(attempt.record.time_median_s) << id;
    ExpectNoPlanLeft();
  }
}

TEST_F(Outputs, OneThatIsWrongInTheTimedLoopAloneDecides) {
  settings_.perf_time_s = 0.02;
  for (const size_t set : {0, 1}) {
    session_->calls.clear();
    session_->behave = Doing({.wrong = true, .output = 1}, [=](const FakeCall& call) {
      return call.what == Asked::kDownload && call.set % 2 == set && !call.cold;
    });
    const Attempt attempt = Time();
    EXPECT_EQ(attempt.record.verdict, "mismatch");
    EXPECT_EQ(attempt.record.worst_output, "residual_out");
    EXPECT_EQ(attempt.record.outputs[1].verdict, "mismatch");
    EXPECT_THAT(attempt.reason,
                testing::ContainsRegex("in the timed loop, after passing: output residual_out: (on .*seed=1"
                                       ": )?bound channel: .* got [^ ]+, golden [^ ]+, error "));
    ASSERT_EQ(attempt.kept.size(), 1U);
    EXPECT_EQ(attempt.kept[0].twin, set == 0 ? KeptOutputSet::kOwn : KeptOutputSet::kSecondSet);
  }
}

TEST_F(Outputs, RelationsAreOfEachOutput) {
  Take(kStats);
  settings_.relations = RelationEffort::kAll;
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.record.verdict, "pass") << attempt.record.reason;
  for (const OutputRecord& output : attempt.record.outputs) {
    EXPECT_THAT(output.properties, HasSubstr("position=yes")) << output.name;
    EXPECT_THAT(output.properties, HasSubstr("repeat=yes")) << output.name;
  }
}

}  // namespace
}  // namespace assay::test
