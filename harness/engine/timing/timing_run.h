// SPDX-License-Identifier: Apache-2.0
// Timed executions of one plan, in calls of a random number of them, so that what the plugin reports can be believed:
// README.md says what is drawn, changed, judged and compared. In steps, so that several sessions can take turns.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "harness/core/base/entropy.h"
#include "harness/engine/timing/kept_outputs.h"
#include "harness/engine/timing/operand_sets.h"
#include "harness/engine/timing/plausibility.h"
#include "harness/engine/timing/timing.h"

namespace assay {

class TimingRun {
 public:
  // The session, and what the case points to, outlive what comes back; after a failure it is of no more use.
  static Call<std::shared_ptr<TimingRun>> Begin(Session& session, uint64_t plan, TimedTrial timed,
                                                TimingRequest request);

  // False: there is nothing more to do than to end it. `processor` is where the calls begin, and then where they began:
  // one that is to be compared with another session's follows it there. See MoveToProcessor(); negative: anywhere.
  Call<bool> Step(int64_t& processor);
  Call<Timing> End();

 private:
  static constexpr size_t kEnoughDownloads = 10;  // to end with, and after which fewer come

  TimingRun(Session& session, uint64_t plan, TimedTrial timed, TimingRequest request);
  Call<void> Prepare();
  Call<double> CallEmpty();

  double SpentSeconds() const;  // by calls and the transfers between them
  bool HasSpentAll() const;
  bool Finished();
  bool Stop(StopReason reason);
  bool IsLong() const;
  bool BeginsWithCase() const;
  std::vector<size_t> DrawSets();
  Call<void> CallOnce(int64_t& processor);
  Call<void> ChangeSome(std::span<const size_t> order);
  bool DrawsUploadPair();
  Call<void> Send(std::span<const Piece> pieces);
  void Record(const Batch& batch, std::span<const size_t> order);
  bool HasExecutedEveryContent() const;
  bool IsUndecided() const;
  bool HasTimeToDownload() const;
  Call<void> DownloadSome(std::span<const size_t> order);
  Call<void> DownloadOne(size_t set);
  Call<void> DownloadAtOnce(size_t set);
  Call<void> DownloadAgain(size_t set, const Execution& first, double first_s, double wait_s);
  Call<double> Download(size_t set, Execution& execution);
  void Keep(size_t set, Execution execution);
  Call<void> DownloadLast();
  Call<void> DownloadMissing();
  Call<void> DownloadLater();
  Call<void> CheckInputs();

  Session& session_;
  uint64_t plan_;
  TimedTrial case_;
  TimingRequest request_;
  OperandSets sets_;
  Plausibility plausibility_;
  Timing timing_;
  std::mt19937_64 random_{DrawEntropy()};  // not reproducible on purpose: no plugin can foresee it
  std::vector<bool> used_;                 // by set: executed since its last change
  std::vector<uint64_t> executed_at_;      // by set: the number of its last execution; 0: none yet
  std::vector<double> durations_s_;        // by set: of its last execution, as the plugin says
  double expected_s_;                      // of one execution by the host's clock; 0: not known yet
  double elapsed_s_ = 0;                   // of the last call
  double uploads_s_ = 0, unused_uploads_s_ = 0;
  double downloads_s_ = 0;  // with what is done with them
  size_t downloads_ = 0, upload_pairs_ = 0;
  bool is_wary_ = false;            // a download was slow for no reason that was seen
  std::vector<size_t> downloaded_;  // outputs, by content
  KeptOutputs kept_;
  std::vector<double> unaccounted_s_;       // what would have counted, as the plugin says
  std::vector<double> unaccounted_host_s_;  // the same by the host's clock
  uint64_t executions_ = 0;
  double calls_s_ = 0;  // without their round trips
  double round_trip_s_ = 0;
  struct UploadPair {
    double changed_s = 0, unused_s = 0, wait_s = 0;
  };
  std::optional<UploadPair> uploads_before_;  // of the next call's data, and of as many unused bytes
  std::optional<size_t> last_set_;            // downloaded and not executed since
  std::vector<Tensor> last_outputs_;          // what came of it
};

// All steps of it.
Call<Timing> RunTiming(Session& session, uint64_t plan, TimedTrial timed, TimingRequest request);

}  // namespace assay
