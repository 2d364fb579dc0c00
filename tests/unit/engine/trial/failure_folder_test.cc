// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/failure_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// A reduction that failed, as the run loop has it, with nothing but what a folder without tensors needs.
class FailureFolderLimits : public testing::Test {
 protected:
  FailureFolderLimits() {
    planned_.spec = ParseId("reduce/f32/shape=4x1000,axes=1/fill=normal/seed=0").value();
    data_ = PrepareCase(planned_.spec, "auto", GoldenStore(fs::path())).value();
    attempt_.implementation = "../evil\nname";
    attempt_.record.implementation = "../evil\nname";
    attempt_.record.backend = "cpu";
    attempt_.record.verdict = "mismatch";
    attempt_.record.reason = "wrong\nrm -rf everything";
    attempt_.record.reproduce = "assay run --case x";
    attempt_.kept.push_back({"run1", -1, {}});
    attempt_.kept[0].outputs.emplace_back(DType::kF32, Shape{4});
  }

  std::string Write(const FailureLimits& limits) {
    FailureFolders folders(out_, "assay", limits);
    const TrialRunner runner(planned_, data_, settings_);
    EXPECT_TRUE(folders.Write(data_, runner, {&attempt_}));
    EXPECT_EQ(attempt_.record.failure_dir, "failures/" + planned_.spec.IdHash());
    const fs::path folder = out_ / attempt_.record.failure_dir;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
    std::ifstream in(folder / "reproduce.txt");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TemporaryFolder folder_;
  const fs::path out_ = folder_.Path("out");
  PlannedCase planned_;
  PreparedCase data_;
  RunnerSettings settings_;
  Attempt attempt_;
};

TEST_F(FailureFolderLimits, TooManyCasesLeaveTheLineAndSaySo) {
  const std::string text = Write({.cases = 0});
  EXPECT_THAT(text, HasSubstr("Without tensors: 0 cases"));
  EXPECT_THAT(text, HasSubstr("\nassay run --case x\n"));
  EXPECT_THAT(text, Not(HasSubstr("assay check")));
}

TEST_F(FailureFolderLimits, ALaterRoundAddsToWhatTheFirstLeft) {
  FailureFolders folders(out_, "assay", {.cases = 0});
  const TrialRunner runner(planned_, data_, settings_);
  Attempt later;
  later.record.reproduce = "assay run --case x --impl later";
  EXPECT_TRUE(folders.Write(data_, runner, {&attempt_}));
  EXPECT_TRUE(folders.Write(data_, runner, {&later}));
  EXPECT_EQ(later.record.failure_dir, attempt_.record.failure_dir);
  std::ifstream in(out_ / later.record.failure_dir / "reproduce.txt");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr("\nassay run --case x\n"));
  EXPECT_THAT(text, HasSubstr("\nassay run --case x --impl later\n"));
}

TEST_F(FailureFolderLimits, TooManyBytesLeaveTheLineAndSaySo) {
  EXPECT_THAT(Write({.bytes = 16000}), HasSubstr("Without tensors: they take"));
}

// Names and reasons come from outside: they may not become a line of the shell script that the file is.
TEST_F(FailureFolderLimits, ForeignTextStaysAComment) {
  EXPECT_THAT(Write({.cases = 0}), HasSubstr("# cpu ../evil name: mismatch: wrong rm -rf everything\n"));
}

}  // namespace
}  // namespace assay
