// SPDX-License-Identifier: Apache-2.0
// One backend, as the rest of the harness uses it. A call that ends the worker (crash, timeout, lost device) fails,
// and the next one starts a fresh worker. Plans do not survive that: prepare them again. Use a session from one
// thread at a time. WorkerSession is the one over a worker process; tests bring one of their own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/exec/buffers.h"
#include "harness/exec/failure.h"
#include "harness/exec/shared_time.h"
#include "ops/operator.h"

namespace assay {

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

// A line of what a device can do, as the plugin says without trying.
struct CapabilityLine {
  std::string op, type, features;  // "matmul", "f32" (of the first operand), "strides;permuted"
};

// What a plan came to, as the plugin says.
struct PlanDescription {
  std::optional<uint64_t> workspace_bytes;  // beside the operands; nothing: the plugin does not say
  std::string algorithm, kernel;            // of its library; what runs on the device
};

struct Prepared {
  uint64_t plan = 0;
  double prepare_s = 0;
  PlanDescription description = {};
};

// One execution, as it came back from the device.
struct Execution {
  Tensor output;
  Prefill prefill = Prefill::kNanPayload;
  int64_t prefilled = 0;  // elements equal to the prefill; UnwrittenElements() of two executions decides
  std::vector<std::string> guard_violations;
  std::vector<std::string> changed_inputs;
  double host_seconds = 0;  // the worker's clock around the batch of one
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

enum class CacheState : uint8_t { kWarm, kCold };

// Executions that followed each other in one call of the plugin.
struct Batch {
  std::vector<double> seconds;  // of each, as the plugin says (or by the worker's clock, where it has no batches)
  bool clock_is_device = false;
  bool cache_was_flushed = false;
  double call_s = 0;  // by the worker's clock around all of them
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

// Timed repetitions in steps, a batch each, so that several sessions can take turns. The session, and what the input
// sets point to, outlive it; after a failure it is of no more use.
class TimingRun {
 public:
  virtual ~TimingRun() = default;
  // False: there is nothing more to do than to end it. `processor` is where the batch begins, and then where it began:
  // one that is to be compared with another session's follows it there. See MoveToProcessor(); negative: anywhere.
  virtual Call<bool> Step(int64_t& processor) = 0;
  virtual Call<Timing> End() = 0;
};

class Session {
 public:
  virtual ~Session() = default;

  virtual Call<BackendDescription> Describe() = 0;
  virtual Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem,
                                                      const LayoutVariant& layout) = 0;
  virtual Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                                 const LayoutVariant& layout) = 0;
  // The same of dense and aligned operands.
  Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem);
  Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation);
  // kUnsupported where there is no table.
  virtual Call<std::vector<CapabilityLine>> Capabilities(int64_t device);
  // Inputs in the problem's order.
  virtual Call<Execution> Execute(uint64_t plan, std::span<const Tensor* const> inputs, Prefill prefill) = 0;
  // Repetition r uses sets[r % sets.size()]; at least two sets.
  virtual Call<std::shared_ptr<TimingRun>> BeginTiming(uint64_t plan, std::vector<InputSet> sets,
                                                       TimingRequest request) = 0;
  // All steps of it.
  Call<Timing> Time(uint64_t plan, std::span<const InputSet> sets, const TimingRequest& request);
  // Waits until the threads of the worker sleep, which those of a pool do some milliseconds after their last work;
  // false where they have not done so in time.
  virtual bool AwaitIdle(double most_s) const = 0;
  // Frees it on the device. A failure says that the plugin did not survive this; the plan is gone in any case.
  virtual Call<void> Release(uint64_t plan) = 0;

  // Ends the worker; the next call starts a fresh one. Plans are gone.
  virtual void Restart() = 0;

  // How many workers were started: what one has prepared and kept, the next has not.
  virtual uint64_t workers_started() const = 0;

  // By which timeouts count from now on, see SharedTime.
  virtual void ShareTime(std::shared_ptr<SharedTime> time) = 0;
};

}  // namespace assay
