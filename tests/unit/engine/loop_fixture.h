// SPDX-License-Identifier: Apache-2.0
// A run over two cases on two devices that do what they are told.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "harness/engine/run_loop.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/quiet_observer.h"
#include "tests/unit/temporary_folder.h"

namespace assay::test {

class CountingObserver : public QuietObserver {
 public:
  void Progressed(size_t done, size_t total, size_t, const std::string& current) override {
    progress.push_back(std::to_string(done) + " of " + std::to_string(total) + ": " + current);
  }
  std::vector<std::string> progress;
};

inline std::string SumOfRows(int rows) {
  return "reduce/f32/shape=" + std::to_string(rows) + "x8,axes=1/fill=normal/seed=0";
}

// Two devices, each with a session, and two cases.
class RunLoop : public testing::Test {
 protected:
  RunLoop() {
    for (const int rows : {4, 5}) cases_.push_back(Planned(SumOfRows(rows)));
    settings_.runner = QuietSettings();
    settings_.runner.interrupted = [this] { return interrupted_.load(); };
    settings_.tier = "auto";
    settings_.store = GoldenStore(std::filesystem::path());
    settings_.observer = &observer_;
    settings_.devices_at_once = 2;
  }

  LoopResult Run() {
    static int runs = 0;
    path_ = temporary_.Path("run" + std::to_string(++runs));
    RunFolder folder = RunFolder::Create(path_).value();
    LoopResult result = RunCases(cases_, {FakeDevice("one", one_), FakeDevice("two", two_)}, settings_, folder);
    for (const auto& session : {one_, two_}) {
      EXPECT_EQ(session->open_plans(), 0U);
      EXPECT_EQ(session->released_twice, 0);
    }
    return result;
  }

  // "5x8 one plain pass": the rows of the case, then where and how it ended.
  static std::vector<std::string> Ends(const LoopResult& result) {
    std::vector<std::string> ends;
    for (const Record& r : result.records) {
      ends.push_back(r.case_id.substr(17, 3) + " " + r.backend + " " + r.implementation + " " + r.verdict);
    }
    return ends;
  }
  // In the case of five rows.
  static FakeSession::Behaviour InSecondCase(const Deed& deed, Asked what, int number = 0) {
    return Doing(deed, [=](const FakeCall& call) {
      return call.what == what && call.case_id == SumOfRows(5) && call.number == number && !call.padded && !call.cold;
    });
  }
  // The lines of a file of the run.
  std::vector<std::string> Lines(const char* file) const {
    std::ifstream in(std::filesystem::path(path_) / file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  const TemporaryFolder temporary_;
  std::string path_;
  std::vector<PlannedCase> cases_;
  std::shared_ptr<FakeSession> one_ = std::make_shared<FakeSession>(), two_ = std::make_shared<FakeSession>();
  std::atomic<bool> interrupted_ = false;
  CountingObserver observer_;
  RunPolicy settings_;
};

}  // namespace assay::test
