// SPDX-License-Identifier: Apache-2.0
#include "tests/support/engine_fixture.h"

namespace assay::test {

PlannedCase Planned(const std::string& id) {
  PlannedCase planned;
  planned.spec = ParseId(id).value();
  planned.spec = Canonicalise(planned.spec, OperatorRegistry::Global().Find(planned.spec.op)->schema()).value();
  return planned;
}

PreparedCase DataOf(const PlannedCase& planned) {
  return PrepareCase(*planned.Bound(), "auto", GoldenStore({})).value();
}

Device FakeDevice(const std::string& backend, std::shared_ptr<FakeSession> session) {
  Device device;
  device.backend = device.selector = backend;
  device.device.name = backend + " device";
  device.session = std::move(session);
  return device;
}

RunnerSettings QuietSettings() {
  RunnerSettings settings;
  settings.relations = RelationEffort::kNone;
  settings.repetitions = 0;
  settings.interrupted = [] { return false; };
  settings.command = "assay run";
  return settings;
}

FakeSession::Behaviour Doing(const Deed& deed, std::function<bool(const FakeCall&)> when) {
  return [deed, when = std::move(when)](const FakeCall& call) { return when(call) ? deed : Deed(); };
}

FakeSession::Behaviour DoingAt(const Deed& deed, Asked what, int number) {
  return Doing(deed, [=](const FakeCall& call) { return call.what == what && call.number == number && !call.padded; });
}

FakeSession::Offered Offering(std::vector<ImplementationInfo> implementations) {
  return
      [implementations = std::move(implementations)](const Problem&, const LayoutVariant&) { return implementations; };
}

std::vector<Attempt> EngineTest::JudgeAll() {
  std::vector<Attempt> attempts;
  TrialRunner(planned_, data_, settings_).Judge(device_, [&](Attempt attempt) {
    attempts.push_back(std::move(attempt));
  });
  return attempts;
}

Attempt EngineTest::Judge() {
  std::vector<Attempt> attempts = JudgeAll();
  EXPECT_EQ(attempts.size(), 1U);
  return attempts.empty() ? Attempt() : std::move(attempts[0]);
}

Attempt EngineTest::Time() {
  settings_.perf_time_s = 0.01;
  TrialRunner runner(planned_, data_, settings_);
  Attempt timed;
  runner.Judge(device_, [&](Attempt attempt) { timed = std::move(attempt); });
  EXPECT_EQ(timed.verdict, Verdict::kPass) << timed.reason;
  if (timed.verdict == Verdict::kPass) runner.Time(device_, timed);
  return timed;
}

void EngineTest::ExpectNoPlanLeft() const {
  EXPECT_EQ(session_->open_plans(), 0U);
  EXPECT_EQ(session_->released_twice, 0);
}

}  // namespace assay::test
