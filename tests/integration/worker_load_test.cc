// SPDX-License-Identifier: Apache-2.0
// Loading, describing and querying plugins that are broken, and the process around them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class LoadTest : public WorkerTest {
 protected:
  static WorkerFailure LoadFailure(const std::string& plugin) {
    WorkerSession session(TestOptions(plugin));
    const Call<BackendDescription> backend = session.Describe();
    if (!backend) return backend.error();
    ADD_FAILURE() << plugin << " was loaded";
    return {};
  }
  static WorkerFailure DescribeFailure(const char* how) {
    const Misbehave misbehave(how);
    return LoadFailure(ASSAY_TEST_PLUGIN);
  }
};

TEST_F(LoadTest, Describes) {
  const Call<BackendDescription> backend = session_.Describe();
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ(backend->name, "misbehaving");
  EXPECT_EQ(backend->unavailable, "");
  ASSERT_EQ(backend->devices.size(), 1u);
  EXPECT_EQ(backend->devices[0].name, "imaginary");
  EXPECT_EQ(backend->devices[0].memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(backend->devices[0].properties, "subnormals=yes");
}

TEST_F(LoadTest, FilesThatAreNoPlugin) {
  EXPECT_THAT(LoadFailure("/nonexistent/x.so").message, HasSubstr("cannot open /nonexistent/x.so: No such file"));
  const std::string text = testing::TempDir() + "assay_not_a_library.so";
  std::ofstream(text) << "INPUT(libx.so)\n";
  EXPECT_THAT(LoadFailure(text).message, HasSubstr("is not a shared library"));
  std::filesystem::remove(text);
  EXPECT_THAT(LoadFailure(ASSAY_TEST_NO_ENTRY).message, HasSubstr("does not export assay_backend_v1"));
  EXPECT_THAT(LoadFailure(ASSAY_TEST_OTHER_MAJOR).message, HasSubstr("exports assay_backend_v2"));
  for (const char* file : {"/nonexistent/x.so", ASSAY_TEST_NO_ENTRY, ASSAY_TEST_OTHER_MAJOR}) {
    EXPECT_EQ(LoadFailure(file).kind, FailureKind::kNoPlugin) << file;
  }
}

TEST_F(LoadTest, WithoutALibraryOfTheSystemIsUnavailable) {
  const WorkerFailure failure = LoadFailure(ASSAY_TEST_ORPHANED);
  EXPECT_EQ(failure.kind, FailureKind::kUnavailable);
  EXPECT_THAT(failure.message,
              HasSubstr("needs libabsent_runtime.so, which is not on this system: install the driver"));
}

TEST_F(LoadTest, BrokenTables) {
  EXPECT_THAT(DescribeFailure("wrong_major").message, HasSubstr("plugin ABI 2.0, this program speaks 1.0"));
  EXPECT_THAT(DescribeFailure("tiny_struct").message, HasSubstr("struct_size is 8"));
  EXPECT_THAT(DescribeFailure("null_function").message, HasSubstr("required function query"));
  EXPECT_THAT(DescribeFailure("null_api").message, HasSubstr("returned NULL"));
  const WorkerFailure older = LoadFailure(ASSAY_TEST_BEFORE_1_0);
  EXPECT_EQ(older.kind, FailureKind::kError);
  EXPECT_THAT(older.message, HasSubstr("its table of 128 bytes was built with a header from before ABI 1.0"));
  EXPECT_THAT(older.message, HasSubstr("query() returns a list that query_free() ends"));
  EXPECT_THAT(DescribeFailure("longer_table").message, HasSubstr("from before ABI 1.0"));
  EXPECT_EQ(DescribeFailure("wrong_major").kind, FailureKind::kError);  // a plugin, but a wrong one
}

TEST_F(LoadTest, CrashWhileLoadingIsSaidToBeOne) {
  const WorkerFailure failure = DescribeFailure("crash_on_load");
  EXPECT_EQ(failure.kind, FailureKind::kCrash);
  EXPECT_THAT(failure.message, StartsWith("while loading " ASSAY_TEST_PLUGIN));
  EXPECT_THAT(failure.message, HasSubstr("SIGSEGV"));
}

TEST_F(LoadTest, AFailureToStartSaysOfWhichDeviceAndWhatWasPrinted) {
  const Misbehave misbehave("null_api");
  WorkerSession session(TestOptions());
  EXPECT_THAT(session.Describe().error().message,
              AllOf(StartsWith("while loading "), HasSubstr("it printed: misbehaving: no firmware for this card")));
  session.NameDevice("cuda:1 (H200)");
  const Call<std::vector<ImplementationInfo>> offered = session.Query(1, problem_);
  ASSERT_FALSE(offered);
  EXPECT_THAT(offered.error().message, AllOf(StartsWith("the worker of cuda:1 (H200) did not start: while loading "),
                                             HasSubstr("it printed: misbehaving: no firmware for this card")));
}

TEST_F(LoadTest, HangWhileLoading) {
  const Misbehave misbehave("hang_on_load");
  SessionOptions options = TestOptions();
  options.worker.startup_timeout_s = 0.7;
  WorkerSession session(options);
  const Call<BackendDescription> backend = session.Describe();
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().kind, FailureKind::kTimeout);
  EXPECT_THAT(backend.error().message, StartsWith("while loading"));
}

TEST_F(LoadTest, WorkerProgramThatCannotRun) {
  SessionOptions options = TestOptions();
  options.worker.executable = "/nonexistent/assay";
  WorkerSession missing(options);
  EXPECT_THAT(missing.Describe().error().message, HasSubstr("/nonexistent/assay cannot be run: No such file"));
  options.worker.executable = "/bin/true";
  WorkerSession other(options);
  EXPECT_EQ(other.Describe().error().kind, FailureKind::kCrash);
}

TEST_F(LoadTest, NoProcessIsLeftBehind) {
  FirstFailure("segfault");
  {
    WorkerSession session(TestOptions());
    ASSERT_TRUE(session.Describe());
  }
  const Misbehave misbehave("crash_on_load");
  EXPECT_FALSE(session_.Describe());  // after the crash above, in a second worker
  errno = 0;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(LoadTest, NoDeviceIsAReasonNotAFailure) {
  const Misbehave misbehave("no_device");
  const Call<BackendDescription> backend = session_.Describe();
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ(backend->unavailable, "no device: install the misbehaving driver");
  EXPECT_TRUE(backend->devices.empty());
}

TEST_F(LoadTest, WrongDescriptions) {
  EXPECT_THAT(DescribeFailure("huge_count").message, HasSubstr("4294967295 devices is not credible"));
  EXPECT_THAT(DescribeFailure("null_strings").message, HasSubstr("'name' in the worker's answer is NULL"));
  EXPECT_THAT(DescribeFailure("bad_name").message, HasSubstr("'Mis Behaving' is not a valid name of a backend"));
}

TEST_F(LoadTest, TextIsCleanedAndBounded) {
  {
    const Misbehave misbehave("bad_utf8");
    const Call<BackendDescription> backend = session_.Describe();
    ASSERT_TRUE(backend) << backend.error().message;
    EXPECT_THAT(backend->vendor, StartsWith("caf\u00e9 \uFFFD\uFFFD\uFFFD [31mred \uFFFD"));
  }
  const Misbehave misbehave("long_text");
  WorkerSession session(TestOptions());
  const Call<BackendDescription> backend = session.Describe();
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ(backend->vendor, fmt::format("{:x>{}}...", "", kMaxNameBytes - 3));
}

TEST_F(LoadTest, Queries) {
  const auto found = session_.Query(0, problem_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->front().name, "ok");
  EXPECT_EQ(found->front().contract_text, "f32acc;det=yes");
  const auto garbage = std::find_if(found->begin(), found->end(),
                                    [](const ImplementationInfo& i) { return i.name == "garbage_contract"; });
  ASSERT_NE(garbage, found->end());
  EXPECT_EQ(garbage->contract_text, "acc=f99");  // the reader's to refuse
}

TEST_F(LoadTest, UnsupportedWithItsReason) {
  problem_.spec.op = "fft";
  const auto found = session_.Query(0, problem_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, FailureKind::kUnsupported);
  EXPECT_THAT(found.error().message, HasSubstr("only matmul in f32"));
  EXPECT_THAT(session_.Query(5, problem_).error().message, HasSubstr("there is one device"));
}

TEST_F(LoadTest, WrongQueries) {
  for (const auto& [how, text] : {std::pair{"huge_query", "1152921504606846976 implementations"},
                                  std::pair{"null_implementation", "implementation 1 is a NULL pointer"}}) {
    const Misbehave misbehave(how);
    WorkerSession session(TestOptions());
    const auto found = session.Query(0, problem_);
    ASSERT_FALSE(found) << how;
    EXPECT_EQ(found.error().kind, FailureKind::kError);
    EXPECT_THAT(found.error().message, HasSubstr(text));
  }
}

}  // namespace
}  // namespace assay
