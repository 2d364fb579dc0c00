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
#include "harness/exec/loaded_libraries.h"
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

// Details of a plan, as the plugin states them.
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
  std::vector<Tensor> outputs;  // in the problem's order
  Prefill prefill = Prefill::kNanPayload;
  // Elements of the outputs equal to the prefill, which those in place have not; FindUnwrittenElements() of two
  // executions decides.
  int64_t prefilled = 0;
  std::vector<std::string> guard_violations;
  size_t damaged_output = 0;  // the first one outside of which bytes were written, if any was
  std::vector<std::string> changed_inputs;
  double host_seconds = 0;  // the worker's clock around the batch of one
};

using InputSet = std::vector<const Tensor*>;

// Transfer times of one set by the worker's clock, the fastest of those made. They include the guards.
struct TransferTimes {
  double upload_s = 0, download_s = 0;  // of all inputs; of all outputs
  uint64_t upload_bytes = 0, download_bytes = 0;
};

enum class CacheState : uint8_t { kWarm, kCold };

// Executions on these sets of operands, one after the other in one call; no set twice.
struct BatchRequest {
  std::span<const size_t> sets = {};  // none: a round trip, in which the plugin has no part
  CacheState cache = CacheState::kWarm;
  int64_t processor = -1;  // where they begin; negative: anywhere. See MoveToProcessor()
  double expected_s = 0;   // by which they may take longer than any call
};
struct Batch {
  std::vector<double> seconds;  // of each, as the plugin says (or by the worker's clock, where it has no batches)
  bool clock_is_device = false;
  bool cache_was_flushed = false;
  double call_s = 0;       // by the worker's clock around all of them
  double elapsed_s = 0;    // by the host's around the call, which no plugin can change
  int64_t processor = -1;  // where they began
};

// Bytes of one operand's tensor in one set, as its shape has them; the outputs are behind the inputs. All of them: with
// the guards around. An output in place has no bytes of its own, and takes those of its input.
struct Piece {
  size_t set = 0, operand = 0;
  uint64_t first = 0, bytes = 0;
};
enum class Part : uint8_t { kInputs, kOutputs };  // of a set

class Session {
 public:
  virtual ~Session() = default;

  virtual Call<BackendDescription> Describe() = 0;
  virtual Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem,
                                                      const LayoutVariant& layout) = 0;
  virtual Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                                 const LayoutVariant& layout) = 0;
  // Overloads for dense and aligned operands.
  Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem);
  Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation);
  // kUnsupported where there is no table.
  virtual Call<std::vector<CapabilityLine>> Capabilities(int64_t device);
  // Inputs in the problem's order. One that is overwritten in place need not be as it was.
  virtual Call<Execution> Execute(uint64_t plan, std::span<const Tensor* const> inputs, Prefill prefill) = 0;

  // Adds that many sets of operands to the plan. This function and the ones up to Transfers() need a plan of dense
  // operands.
  virtual Call<void> Bind(uint64_t plan, size_t sets) = 0;
  // The tensor that the next upload sends: to be written before the first one, and changed at will.
  virtual Call<std::span<std::byte>> Staged(uint64_t plan, size_t set, size_t operand) = 0;
  // Upload, Download and ExecuteBatch return seconds by the host's clock around the call.
  virtual Call<double> Upload(uint64_t plan, std::span<const Piece> pieces) = 0;
  // Adds findings to `execution`: the outputs, or changes of the inputs since their upload. Inputs that are overwritten
  // in place are left out.
  virtual Call<double> Download(uint64_t plan, size_t set, Part part, Execution& execution) = 0;
  // Downloads several different sets, in the order of `executions`. Small operands take fewer calls.
  virtual Call<void> DownloadAll(uint64_t plan, std::span<const size_t> sets, Part part,
                                 std::span<Execution> executions);
  virtual Call<Batch> ExecuteBatch(uint64_t plan, const BatchRequest& request) = 0;
  virtual TransferTimes Transfers(uint64_t plan) = 0;  // of whole operands

  // Waits until the threads of the worker sleep, which those of a pool do some milliseconds after their last work;
  // false where they have not done so in time.
  virtual bool AwaitIdle(double most_s) const = 0;
  // Frees it on the device. A failure says that the plugin did not survive this; the plan is gone in any case.
  virtual Call<void> Release(uint64_t plan) = 0;

  // Ends the worker; the next call starts a fresh one. Plans are gone.
  virtual void Restart() = 0;

  // Frees all plans, then closes the device in the worker that runs, if one does. A failure says that the plugin did
  // not survive this.
  virtual Call<void> Close() { return {}; }

  // How many workers were started: what one has prepared and kept, the next has not.
  virtual uint64_t workers_started() const = 0;

  // The shared libraries that its workers were seen to have loaded beside the harness's own.
  virtual LibraryPaths LoadedLibraries() const { return {}; }

  // How one of its workers crashed that had given its last answer; "": none did.
  virtual std::string CrashAtEnd() const { return ""; }

  // Stops waiting for calls once the function returns true.
  virtual void EndWhen(std::function<bool()> /*interrupted*/) {}

  // Sets the clock for later timeouts, see SharedTime.
  virtual void ShareTime(std::shared_ptr<SharedTime> time) = 0;
};

}  // namespace assay
