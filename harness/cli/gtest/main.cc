// SPDX-License-Identifier: Apache-2.0
// assay_gtest: the cases of a run as tests of GoogleTest, for test runners, IDEs and CTest that know its options and
// its output. GoogleTest's options choose among the cases (--gtest_filter, shards, --gtest_output), those of `assay
// run` cases, backends and what is required. What is chosen runs as one run, as it would in `assay run --no-perf`,
// before the first test; each test then says what its case came to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <map>
#include <set>

#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/verbs.h"
#include "harness/engine/results/exit_code.h"
#include "harness/plan/catalog.h"

namespace assay::cli {
namespace {

// The run that all tests share, made before the first one.
class SharedRun : public testing::Environment {
 public:
  explicit SharedRun(RunOptions options) : options_(std::move(options)) {}

  void SetUp() override {
    const std::set<std::string> chosen = ChosenCases();
    if (chosen.empty() || begun_) return;  // or repeated: results stand
    auto begun = BeginRun(RunSettings(options_), [&](const RunRequest& request, std::vector<std::string>& notes) {
      auto prepared = PrepareRun(request, notes);
      if (prepared) KeepCases(chosen, *prepared);
      return prepared;
    });
    begun_ = true;
    if (!begun) {
      code_ = begun.error();
      GTEST_FAIL() << "the run did not begin (see above)";
    }
    LoopResult result = (*begun)->RunAll(std::move((*begun)->prepared.selection.cases));
    for (const Record& record : result.records) records_[record.case_id].push_back(record);
    code_ = EndRun(**begun, result, nullptr, [] {});
  }

  const std::vector<Record>& RecordsOf(const std::string& id) { return records_[id]; }
  const RunOptions& options() const { return options_; }

  // Exit code of the program. It also fails if the run as a whole did, or a device was lost at its end.
  int ExitCode(int of_tests) const { return of_tests != 0 || code_ == kExitNothing ? of_tests : code_; }

 private:
  // Cases whose tests will run: the filter matches them, and they are of this shard.
  static std::set<std::string> ChosenCases() {
    std::set<std::string> ids;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& suite = *all.GetTestSuite(i);
      for (int k = 0; k < suite.total_test_count(); ++k) {
        const testing::TestInfo& test = *suite.GetTestInfo(k);
        if (test.should_run()) ids.insert(fmt::format("{}/{}", suite.name(), test.name()));
      }
    }
    return ids;
  }

  static void KeepCases(const std::set<std::string>& ids, PreparedRun& prepared) {
    std::erase_if(prepared.selection.cases, [&](const PlannedCase& c) { return !ids.contains(c.spec.Id()); });
    std::erase_if(prepared.plan.entries, [&](const PlanEntry& entry) { return !ids.contains(entry.id); });
    CompletePlan(prepared.plan);
  }

  RunOptions options_;
  std::map<std::string, std::vector<Record>> records_;
  bool begun_ = false;
  int code_ = kExitOk;
};

std::string DescribeImplementation(const Record& record) {
  const std::string backend =
      record.device.empty() ? record.backend : fmt::format("{}[{}]", record.backend, record.device);
  return record.implementation.empty() ? backend : fmt::format("{}:{}", backend, record.implementation);
}

class CaseTest : public testing::Test {
 public:
  CaseTest(SharedRun& run, std::string id) : run_(run), id_(std::move(id)) {}

  void TestBody() override {
    const std::vector<Record>& records = run_.RecordsOf(id_);
    if (records.empty()) GTEST_FAIL() << "the run ended before this case had a result";
    std::string unsupported;
    bool ran = false;
    for (const Record& record : records) {
      RecordProperty(DescribeImplementation(record), record.verdict);
      if (FailsRun(record, run_.options().strict)) {
        ADD_FAILURE() << record.verdict << " " << DescribeImplementation(record) << " " << id_ << ": " << record.reason
                      << "\n"
                      << record.reproduce;
      }
      const bool is_absent = record.implementation.empty() && (record.verdict == Name(Verdict::kUnsupported) ||
                                                               record.verdict == Name(Verdict::kUnavailable));
      ran = ran || !is_absent;
      if (is_absent) unsupported += fmt::format("\n{}: {}", DescribeImplementation(record), record.reason);
    }
    if (!ran && !HasFailure()) GTEST_SKIP() << "no backend computes this:" << unsupported;
  }

 private:
  SharedRun& run_;
  std::string id_;
};

Result<void> RegisterCases(SharedRun& run) {
  const auto planned = PlanCases(run.options().selection);
  if (!planned) return tl::unexpected(planned.error());
  for (const PlannedCase& c : planned->selection.cases) {
    const std::string id = c.spec.Id();
    const std::string test = id.substr(c.spec.op.size() + 1);
    testing::RegisterTest(c.spec.op.c_str(), test.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&run, id]() -> testing::Test* { return new CaseTest(run, id); });
  }
  if (planned->selection.cases.empty()) {
    return UsageError(planned->selection.empty_message);
  }
  return {};
}

int RunTests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);  // takes its own options away
  RunOptions options;
  options.perf = false;  // tests say what is right; times are for `assay run`
  CLI::App app("Runs cases as tests: options of GoogleTest (--gtest_help), then these of assay run");
  AddOptions(app, options, kCaseChoice);
  AddOptions(app, options, {"--shard", "--seed", "--allow-unused"});
  AddUntimedRun(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : Complain(kExitUsage, error.what());
  }
  if (const int code = RefuseMistakes(); code != kExitOk) return code;
  if (!options.selection.shard) options.selection.shard = "0/1";  // GoogleTest's own variables are for its tests
  auto* run = new SharedRun(std::move(options));                  // GoogleTest deletes it
  testing::AddGlobalTestEnvironment(run);
  if (const auto registered = RegisterCases(*run); !registered) {
    return Complain(kExitUsage, registered.error().message);
  }
  return run->ExitCode(RUN_ALL_TESTS());
}

}  // namespace
}  // namespace assay::cli

int main(int argc, char** argv) {
  return assay::cli::RunOnLargeStack([&] {
    assay::cli::PrepareProcess(argc, argv);
    return assay::cli::IsWorker(argc, argv) ? assay::cli::Main(argc, argv) : assay::cli::RunTests(argc, argv);
  });
}
