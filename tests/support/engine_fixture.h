// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the engine: a case, and devices behind fake sessions.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/engine/trial/trial_runner.h"
#include "tests/support/fake_session.h"

namespace assay::test {

inline constexpr const char* kSum = "reduce/f32/shape=4x8,axes=1/fill=normal/seed=0";  // has twins

// Bound, as the plan of a run has it. The test fails when the id is wrong.
PlannedCase Planned(const std::string& id);
PreparedCase DataOf(const PlannedCase& planned);

Device FakeDevice(const std::string& backend, std::shared_ptr<FakeSession> session);

RunnerSettings QuietSettings();  // no timing, no relations, nothing repeated

// The deed in the calls of which `when` is true.
FakeSession::Behaviour Doing(const Deed& deed, std::function<bool(const FakeCall&)> when);
// In the `number`-th of those calls, of any implementation; in dense layouts.
FakeSession::Behaviour DoingAt(const Deed& deed, Asked what, int number);

// Offers these in every layout.
FakeSession::Offered Offering(std::vector<ImplementationInfo> implementations);

// One device and one case.
class EngineTest : public testing::Test {
 protected:
  explicit EngineTest(const std::string& id = kSum) : planned_(Planned(id)), data_(DataOf(planned_)) {}

  std::vector<Attempt> JudgeAll();
  // The test fails unless there is one.
  Attempt Judge();
  // Judged and timed once. The test fails unless it passed before it was timed.
  Attempt Time();
  // All that was prepared is gone again, and nothing twice.
  void ExpectNoPlanLeft() const;

  PlannedCase planned_;
  PreparedCase data_;
  RunnerSettings settings_ = QuietSettings();
  std::shared_ptr<FakeSession> session_ = std::make_shared<FakeSession>();
  Device device_ = FakeDevice("fake", session_);
};

}  // namespace assay::test
