// SPDX-License-Identifier: Apache-2.0
// A session over a worker process, which dies with the thread that started it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/core/base/profile.h"
#include "harness/exec/call_limits.h"
#include "harness/exec/session.h"
#include "harness/exec/worker.h"

namespace assay {

struct SessionOptions {
  WorkerOptions worker;
  double call_timeout_s = 60;         // each of: query, upload, execute, download, a batch of timed repetitions
  double prepare_timeout_s = 300;     // compilers are slow
  bool timeouts_are_constant = true;  // else they follow the work and the calls before, see CallLimits
};

class WorkerSession final : public Session {
 public:
  explicit WorkerSession(SessionOptions options);
  ~WorkerSession() override;

  using Session::Prepare;
  using Session::Query;
  Call<BackendDescription> Describe() override;
  Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem,
                                              const LayoutVariant& layout) override;
  Call<std::vector<CapabilityLine>> Capabilities(int64_t device) override;
  Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                         const LayoutVariant& layout) override;
  Call<Execution> Execute(uint64_t plan, std::span<const Tensor* const> inputs, Prefill prefill) override;
  Call<void> Bind(uint64_t plan, size_t sets) override;
  Call<std::span<std::byte>> Staged(uint64_t plan, size_t set, size_t operand) override;
  Call<double> Upload(uint64_t plan, std::span<const Piece> pieces) override;
  Call<double> Download(uint64_t plan, size_t set, Part part, Execution& execution) override;
  Call<void> DownloadAll(uint64_t plan, std::span<const size_t> sets, Part part,
                         std::span<Execution> executions) override;
  Call<Batch> ExecuteBatch(uint64_t plan, const BatchRequest& request) override;
  TransferTimes Transfers(uint64_t plan) override;
  bool AwaitIdle(double most_s) const override;
  Call<void> Release(uint64_t plan) override;
  void Restart() override;
  Call<void> Close() override;
  LibraryPaths LoadedLibraries() const override { return libraries_; }
  std::string CrashAtEnd() const override { return worker_.crash_at_end(); }
  uint64_t workers_started() const override { return workers_started_; }
  void EndWhen(std::function<bool()> interrupted) override { worker_.EndWhen(std::move(interrupted)); }
  void ShareTime(std::shared_ptr<SharedTime> time) override { worker_.ShareTime(std::move(time)); }

  // Sets the name of the device, "cuda:1 (NVIDIA H200)", for messages about a worker that does not start.
  void NameDevice(std::string device) { device_ = std::move(device); }

  const std::string& sandbox() const { return worker_.sandbox(); }
  const std::string& hidden() const { return worker_.hidden(); }

  // Standard error of the running worker or the last one.
  std::string StderrTail() const { return worker_.StderrTail(); }

 private:
  struct Plan;
  class SpareMemory;
  // `expected_s`: time besides the work, such as that of a timed loop.
  Call<Json> Ask(const std::string& call, Json message, const CallWork& work, std::span<const int> fds = {},
                 double expected_s = 0);
  void NoteChange(const std::string& call, WorkerFailure& failure);
  Call<Plan*> FindPlan(uint64_t plan);
  Call<void> Bind(Plan& plan, size_t sets);
  struct Operands {
    size_t first = 0, end = 0;  // of the plan's: the inputs, then the outputs
  };
  Call<double> Upload(Plan& plan, std::span<const Piece> images);  // by their bytes in images
  // `count` operands of the plan.
  Call<double> Transfer(Phase phase, const Plan& plan, Json pieces, size_t count, std::vector<double>& seconds);
  // Operands of a set; what is found is added to the execution, which says with what its outputs were prefilled.
  struct Fetch {
    size_t set = 0;
    Operands which = {};
    Execution* execution = nullptr;
  };
  // In one call: precondition is that each has room of its own (Plan::Memory), or that there is one.
  Call<double> Download(Plan& plan, std::span<const Fetch> fetches);
  // Adds what came back of them; `seconds` of each operand.
  static void Observe(Plan& plan, const Fetch& fetch, std::span<const double> seconds);
  // Both the executions that are judged and those that are timed.
  Call<Batch> ExecuteBatch(Phase phase, const Plan& plan, const BatchRequest& request);
  void NoteLibraries(const std::string& of_plan);
  tl::unexpected<WorkerFailure> RejectAnswer(const std::string& call, const std::string& problem);

  CallLimits limits_;
  std::string device_;
  std::map<uint64_t, std::unique_ptr<Plan>> plans_;  // of the running worker
  std::unique_ptr<SpareMemory> spare_;
  uint64_t next_plan_ = 1, workers_started_ = 0;
  std::optional<WorkerFailure> hung_;  // how the start of a worker ended that is not tried again
  LibraryPaths libraries_;
  std::set<std::string> looked_at_;  // "operator implementation" whose libraries were looked for
  Worker worker_;
};

}  // namespace assay
