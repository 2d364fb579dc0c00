// SPDX-License-Identifier: Apache-2.0
// assay golden build. Exit codes: 0; 2 usage; 3 a value could not be computed or written; 4 nothing selected.
#include <fmt/format.h>

#include <mutex>

#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/stopwatch.h"
#include "harness/engine/cases/prepared_case.h"

namespace assay::cli {
namespace {

enum class BuildState : uint8_t { kPresent, kComputed, kReplaced, kFailed };

struct BuildResult {
  BuildState state;
  std::string message;  // what was damaged, or what failed
};

BuildResult BuildOutput(const PreparedCase& data, size_t output, const GoldenKey& key, const GoldenStore& store) {
  const auto stored = store.Load(key);
  if (stored && *stored) return {BuildState::kPresent, ""};
  const Golden golden = data.op->ComputeGolden(data.problem, output, data.inputs, key.tier);
  if (auto saved = store.Save(key, golden); !saved) {
    return {BuildState::kFailed, fmt::format("golden store: {}", saved.error().message)};
  }
  if (stored) return {BuildState::kComputed, ""};
  return {BuildState::kReplaced,
          fmt::format("golden store: {}; the value was computed anew and the file replaced", stored.error().message)};
}

// Builds the golden values of all outputs and returns the most notable state.
BuildResult BuildOne(const BoundCase& bound, const std::string& tier, const GoldenStore& store) {
  const auto data = PrepareInputs(bound);
  if (!data) return {BuildState::kFailed, data.error().message};
  BuildResult worst{BuildState::kPresent, ""};
  for (size_t output = 0; output < data->outputs.size(); ++output) {
    BuildResult one = BuildOutput(*data, output, KeyOf(*data, output, ChooseTier(tier, data->problem)), store);
    if (one.state > worst.state) worst = std::move(one);
  }
  return worst;
}

// States as they come, from several threads.
class BuildTally {
 public:
  BuildTally(const std::vector<SharedCase>& cases, Progress::Mode mode)
      : cases_(cases), progress_(mode, cases.size()) {}

  void Add(size_t i, const BuildResult& result) {
    const std::string id = cases_[i]->problem.spec.Id();
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<size_t>(result.state)];
    ++done_;
    if (!result.message.empty()) notes_.push_back(fmt::format("{}: {}", id, result.message));
    progress_.Update(done_, Count(BuildState::kFailed), id);
  }
  size_t Count(BuildState state) const { return counts_[static_cast<size_t>(state)]; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const std::vector<SharedCase>& cases_;
  std::mutex mutex_;
  Progress progress_;
  size_t counts_[4] = {}, done_ = 0;
  std::vector<std::string> notes_;
};

int BuildAll(const GoldenOptions& options, const std::vector<SharedCase>& cases, const GoldenStore& store) {
  RemoveAbandonedWrites(store.root());
  const Stopwatch time;
  BuildTally tally(cases, Progress::ParseMode(options.run.progress));
  ForEachCase(
      cases, [&](size_t i) { tally.Add(i, BuildOne(*cases[i], options.run.tier, store)); },
      [&](size_t i, const std::string& why) {
        tally.Add(i, {BuildState::kFailed, why});
      });
  for (const std::string& note : tally.notes()) Note(note);
  const size_t failed = tally.Count(BuildState::kFailed);
  Print(fmt::format("{}: {}, {} computed, {} there already, {} damaged and computed again, {} failed; {:.1f} s\n",
                    store.root().string(), Counted(static_cast<int64_t>(cases.size()), "case"),
                    tally.Count(BuildState::kComputed), tally.Count(BuildState::kPresent),
                    tally.Count(BuildState::kReplaced), failed, time.Seconds()));
  return failed > 0 ? kExitHarness : kExitOk;
}

}  // namespace

int BuildGoldens(const GoldenOptions& options) {
  return WithCases(options, [&](const std::vector<SharedCase>& cases, const GoldenStore& store) {
    return BuildAll(options, cases, store);
  });
}

}  // namespace assay::cli
