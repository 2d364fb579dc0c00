// SPDX-License-Identifier: Apache-2.0
// Cost of the checks that make a time believable (harness/engine/timing): processor time of a run of suite default on
// the installed backends, compared with the same run when it trusts the plugin and makes the fewest calls that its
// times need. Both run in processes of their own, in turns, so that a busy machine slows both. Target: 5 % of a run.
//
// A pair of runs takes some eight minutes, of --suite smoke one; --pairs N makes N of them (1), --only with or
// --only without makes one run, for a profiler.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/cli/run_settings.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/statistics.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/run_loop.h"
#include "tests/bench/targets.h"
#include "tests/support/quiet_observer.h"

namespace assay::bench {
namespace {

constexpr double kTarget = 0.05;
constexpr size_t kFirstBatch = 12;  // a median can be known to be known

// One set of each content; a call that wakes everything up, calls until the request has what it wants, each of as many
// executions as there were before, and the outputs of the last one.
class FewestCalls {
 public:
  FewestCalls(Session& session, uint64_t plan, TimedTrial timed, TimingRequest request)
      : session_(session), plan_(plan), case_(std::move(timed)), request_(std::move(request)) {}

  Call<Timing> Run() {
    if (Call<void> done = Upload(); !done) return tl::unexpected(done.error());
    size_t count = case_.contents.size();
    for (bool wakes_up = true; wakes_up || !Finished(); wakes_up = false) {
      const Call<double> expected_s = CallOnce(count, !wakes_up);
      if (!expected_s) return tl::unexpected(expected_s.error());
      const double fits = std::min(request_.call_seconds, request_.max_seconds) / std::max(*expected_s, 1e-9);
      const auto most = static_cast<double>(std::max(kFirstBatch, timing_.seconds.size()));
      count = static_cast<size_t>(std::clamp(fits, 1.0, most));
    }
    if (Call<void> done = Download(); !done) return tl::unexpected(done.error());
    timing_.wall_s = timing_.host_seconds / static_cast<double>(timing_.seconds.size());
    timing_.transfers = session_.Transfers(plan_);
    return std::move(timing_);
  }

 private:
  Call<void> Upload() {
    const size_t inputs = case_.problem->inputs.size();
    if (Call<void> bound = session_.Bind(plan_, case_.contents.size()); !bound) return bound;
    std::vector<Piece> pieces;
    for (size_t set = 0; set < case_.contents.size(); ++set) {
      for (size_t i = 0; i <= inputs; ++i) {
        const Call<std::span<std::byte>> to = session_.Staged(plan_, set, i);
        if (!to) return tl::unexpected(to.error());
        if (i < inputs) std::copy_n(case_.contents[set][i]->data(), to->size(), to->data());
        if (i == inputs) FillWith(PrefillElement(case_.problem->outputs[0].dtype, Prefill::kNanPayload), *to);
        pieces.push_back({set, i, 0, to->size()});
      }
    }
    const Call<double> sent = session_.Upload(plan_, pieces);
    return sent ? Call<void>() : tl::unexpected(sent.error());
  }

  // Duration of one execution by the host's clock.
  Call<double> CallOnce(size_t count, bool counts) {
    std::vector<size_t> sets(count);
    for (size_t i = 0; i < count; ++i) sets[i] = i % case_.contents.size();
    const CacheState cache = request_.cold_cache ? CacheState::kCold : CacheState::kWarm;
    const Call<Batch> batch = session_.ExecuteBatch(plan_, BatchRequest{sets, cache});
    if (!batch) return tl::unexpected(batch.error());
    timing_.clock_is_device = batch->clock_is_device;
    timing_.cache_was_flushed = batch->cache_was_flushed;
    if (counts) timing_.host_seconds += batch->elapsed_s;
    if (counts) timing_.seconds.insert(timing_.seconds.end(), batch->seconds.begin(), batch->seconds.end());
    return batch->elapsed_s / static_cast<double>(count);
  }

  bool Finished() const {
    const auto count = static_cast<int64_t>(timing_.seconds.size());
    if (count == 0) return false;
    if (count >= request_.max_repetitions || timing_.host_seconds >= request_.max_seconds) return true;
    return count >= request_.min_repetitions && request_.enough && request_.enough(timing_.seconds);
  }

  Call<void> Download() {
    for (size_t set = 0; set < case_.contents.size(); ++set) {
      TimedOutput output{set, true, {}};
      for (const Part part : {Part::kOutputs, Part::kInputs}) {
        const Call<double> done = session_.Download(plan_, set, part, output.execution);
        if (!done) return tl::unexpected(done.error());
      }
      const bool known = HashOf(output.execution.outputs) == case_.known[set];
      if (!known || !SideEffect(output.execution).empty()) timing_.outputs.push_back(std::move(output));
    }
    return {};
  }

  Session& session_;
  uint64_t plan_;
  TimedTrial case_;
  TimingRequest request_;
  Timing timing_;
};

// In a process of its own: its exit code.
int RunSuite(const std::string& suite, bool with_measures, const std::filesystem::path& folder_path) {
  cli::RunOptions options;
  options.selection.suite = suite;
  cli::RunSettings run(options);
  auto prepared = cli::Prepare(run, PrepareRun);
  if (!prepared) return cli::Complain(1, prepared.error().message);
  auto folder = RunFolder::Create(folder_path);
  if (!folder) return cli::Complain(1, folder.error().message);
  RunPolicy& settings = run.policy;
  if (!with_measures) {
    settings.runner.timing = [](Session& session, uint64_t plan, TimedTrial timed, TimingRequest request) {
      return FewestCalls(session, plan, std::move(timed), std::move(request)).Run();
    };
  }
  QuietObserver observer;
  settings.observer = &observer;
  const LoopResult result = RunCases(std::move(prepared->selection.cases), prepared->devices, settings, *folder);
  const auto passes = std::ranges::count(result.records, "pass", &Record::verdict);
  return passes > 0 ? 0 : cli::Complain(1, "nothing passed: build the backends first");
}

double ProcessorSeconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Processor time of the run and of all processes that it started. Negative: it failed.
double Measure(const std::string& suite, bool with_measures, const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(RunSuite(suite, with_measures, folder));
  int status = 0;
  rusage usage = {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) return -1;
  return ProcessorSeconds(usage);
}

std::filesystem::path FolderOfRuns() {
  return std::filesystem::temp_directory_path() / ("assay-measures-" + std::to_string(::getpid()));
}

int CompareRuns(const std::string& suite, size_t pairs) {
  const std::filesystem::path folder = FolderOfRuns();
  std::vector<double> shares, with, without;
  Measure(suite, true, folder);  // golden values into the store, kernels into caches
  for (size_t i = 0; i < pairs; ++i) {
    for (const bool on : {i % 2 == 0, i % 2 != 0}) (on ? with : without).push_back(Measure(suite, on, folder));
    if (with.back() < 0 || without.back() < 0) return 1;
    shares.push_back(1 - without.back() / with.back());
    std::printf("# with the measures %.2f s of processor time, without %.2f s: %.1f %%\n", with.back(), without.back(),
                100 * shares.back());
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  Targets targets;
  targets.AtMost("measures_share_of_run", kTarget, Quantile(shares, 0.5));
  return targets.ExitCode();
}

std::string_view OptionOf(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return "";
}

int Main(int argc, char** argv) {
  const std::string_view named = OptionOf(argc, argv, "--suite");
  const std::string suite(named.empty() ? "default" : named);
  const std::string_view only = OptionOf(argc, argv, "--only");
  if (!only.empty()) return Measure(suite, only == "with", FolderOfRuns()) < 0 ? 1 : 0;
  const std::string_view pairs = OptionOf(argc, argv, "--pairs");
  return CompareRuns(suite, pairs.empty() ? 1 : std::max<size_t>(1, std::strtoul(pairs.data(), nullptr, 10)));
}

}  // namespace
}  // namespace assay::bench

// Sessions start this program as their workers.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") return assay::cli::Main(argc, argv);
  assay::KeepFreedMemory();
  return assay::bench::Main(argc, argv);
}
