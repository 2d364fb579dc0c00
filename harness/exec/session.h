// SPDX-License-Identifier: Apache-2.0
// One backend, as the rest of the harness uses it. A call that ends the worker (crash, timeout, lost device) fails,
// and the next one starts a fresh worker. Plans do not survive that: prepare them again. Use a session from one
// thread at a time; the worker dies with the thread that started it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/profile.h"
#include "harness/exec/buffers.h"
#include "harness/exec/worker.h"
#include "ops/operator.h"

namespace assay {

struct SessionOptions {
  WorkerOptions worker;
  double call_timeout_s = 60;      // each of: query, upload, execute, download, a batch of timed repetitions
  double prepare_timeout_s = 300;  // compilers are slow
  int worker_number = 1;           // of those of one plugin, for traces
};

struct DeviceDescription {
  std::string name, driver;
  int64_t type = 0;  // ASSAY_DEVICE_*
  int64_t id = 0;
  uint64_t memory_bytes = 0;
  std::string properties;

  bool IsHost() const;  // it computes on the processors of this machine
};

struct BackendDescription {
  std::string name, vendor, version, library_version;
  std::vector<DeviceDescription> devices;
  std::string unavailable;  // why there is no device; "" when there is one
};

struct ImplementationInfo {
  std::string name;
  std::string contract_text;  // as declared; the caller parses it
};

struct Prepared {
  uint64_t plan = 0;
  double prepare_s = 0;
};

// One execution, as it came back from the device.
struct Execution {
  Tensor output;
  Prefill prefill = Prefill::kNanPayload;
  int64_t prefilled = 0;  // elements equal to the prefill; UnwrittenElements() of two executions decides
  std::vector<std::string> guard_violations;
  std::vector<std::string> changed_inputs;
  double host_seconds = 0;  // the worker's clock around execute
};

using InputSet = std::vector<const Tensor*>;

struct TimingRequest {
  int64_t warmup = 2;            // repetitions before the first that counts; cold ones need none
  int64_t min_repetitions = 10;  // unless max_seconds pass before
  int64_t max_repetitions = 10000;
  double max_seconds = 1;       // wall clock of all timed batches
  double batch_seconds = 0.01;  // of each
  bool cold_cache = false;
  // Of a repetition, as executions before took it, perhaps beside other work; 0: unknown. One that is long needs no
  // repetition without record for each set.
  double expected_seconds = 0;
  // Asked between batches once there are min_repetitions: whether these suffice. Empty: never.
  std::function<bool(std::span<const double>)> enough;
};

// Why no more repetitions were made. kNotFlushed: cold caches were asked for, and the plugin has no way to them.
enum class StopReason : uint8_t { kSettled, kTimeLimit, kRepetitions, kNotFlushed };
std::string_view Name(StopReason reason);  // "settled", "time limit", "repetitions", "not flushed"

// Of one set by the worker's clock, the fastest of those that were made; guards travel too.
struct TransferTimes {
  double upload_s = 0, download_s = 0;  // of all inputs; of the output
  uint64_t upload_bytes = 0, download_bytes = 0;
};

struct Timing {
  std::vector<double> seconds;          // per repetition
  std::vector<double> batch_medians_s;  // of the repetitions of each batch
  bool clock_is_device = false;
  bool cache_was_flushed = false;
  double host_seconds = 0;  // wall clock around all batches, unrecorded repetitions included: bounds a false clock
  double wall_s = 0;        // mean of a repetition by the worker's clock around whole batches: with what a launch costs
  StopReason stop = StopReason::kTimeLimit;
  TransferTimes transfers;
  // Each set's output after a batch that ends at a repetition chosen at random among all. It was prefilled before. The
  // inputs are checked after the last.
  std::vector<Execution> judged;
};

class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();

  Call<BackendDescription> Describe();
  Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem, const LayoutVariant& = {});
  Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                         const LayoutVariant& = {});
  // Inputs in the problem's order.
  Call<Execution> Execute(uint64_t plan, std::span<const Tensor* const> inputs, Prefill prefill);
  // Repetition r uses sets[r % sets.size()]; at least two sets.
  Call<Timing> Time(uint64_t plan, std::span<const InputSet> sets, const TimingRequest& request);
  // The same in steps, a batch each, so that several sessions can take turns. What `sets` points to outlives it; after
  // a failure it is of no more use.
  class TimingRun;
  Call<std::shared_ptr<TimingRun>> BeginTiming(uint64_t plan, std::vector<InputSet> sets, TimingRequest request);
  // False: there is nothing more to do than to end it. `processor` is where the batch begins, and then where it began:
  // one that is to be compared with another session's follows it there. See MoveToProcessor(); negative: anywhere.
  static Call<bool> Step(TimingRun& run, int64_t& processor);
  static Call<Timing> EndTiming(TimingRun& run);
  // Waits until the threads of the worker sleep, which those of a pool do some milliseconds after their last work;
  // false where they have not done so in time.
  bool AwaitIdle(double most_s) const;
  // Frees it on the device. A failure says that the plugin did not survive this; the plan is gone in any case.
  Call<void> Release(uint64_t plan);

  // Ends the worker; the next call starts a fresh one. Plans are gone.
  void Restart();

  const SessionOptions& options() const { return options_; }

  // How many workers were started: what one has prepared and kept, the next has not.
  uint64_t workers_started() const { return workers_started_; }

  // By which timeouts count from now on, see SharedTime.
  void ShareTime(std::shared_ptr<SharedTime> time) { worker_.ShareTime(std::move(time)); }

  // Of the running worker, or of the last one.
  std::string StderrTail() const { return worker_.StderrTail(); }

 private:
  struct Plan;
  class SpareMemory;
  Call<Json> Ask(const std::string& call, Json message, double timeout_s, std::span<const int> fds = {});
  Call<Plan*> FindPlan(uint64_t plan);
  Call<void> Bind(Plan& plan, size_t set);
  struct Operands {
    size_t first = 0, end = 0;  // of the plan's: the inputs, then the output
  };
  // Upload or download.
  Call<void> Transfer(Phase call, Plan& plan, size_t set, Operands which);
  void WriteImages(Plan& plan, size_t set, std::span<const Tensor* const> inputs, Prefill prefill, Operands which);
  Call<void> Upload(Plan& plan, size_t set, std::span<const Tensor* const> inputs, Prefill prefill, Operands which);
  // Adds what it finds to `execution`, which says with what its output was prefilled.
  Call<void> Download(Plan& plan, size_t set, std::span<const Tensor* const> inputs, Operands which,
                      Execution& execution);
  tl::unexpected<WorkerFailure> BadAnswer(const std::string& call, const std::string& problem);

  SessionOptions options_;
  std::map<uint64_t, std::unique_ptr<Plan>> plans_;  // of the running worker
  std::unique_ptr<SpareMemory> spare_;
  uint64_t next_plan_ = 1, workers_started_ = 0;
  std::mt19937_64 random_{std::random_device{}()};  // not reproducible on purpose: no plugin can foresee it
  Worker worker_;
};

}  // namespace assay
