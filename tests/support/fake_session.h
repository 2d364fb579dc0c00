// SPDX-License-Identifier: Apache-2.0
// A session without a worker: it computes each operator honestly on the host, as the golden value rounded to the
// output's type, and misbehaves where it is told to. It keeps all that it was asked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/exec/session.h"

namespace assay::test {

// The four before the last are those of a timed loop; a batch is one that executes something.
enum class Asked { kDescribe, kQuery, kPrepare, kExecute, kBind, kUpload, kBatch, kDownload, kRelease };

struct FakeCall {
  Asked what = Asked::kQuery;
  std::string implementation, case_id;
  bool padded = false;
  int number = 0;     // of those of this kind, implementation, case and layout, over all workers, from 0
  int worker = 1;     // that answers
  bool own = true;    // an execution of the inputs of the first one of this kind, case and layout
  bool cold = false;  // of a batch, and of the downloads behind it
  size_t set = 0;     // of a download
  size_t batch = 0;   // how many executions the last call had
};

// Misbehaviour of one call.
struct Deed {
  std::optional<FailureKind> fails;  // those that a worker does not survive take all plans along
  bool wrong = false;                // one element
  bool not_a_number = false;         // one element
  bool unwritten = false;            // one element keeps the prefill
  bool keeps_larger = false;         // one element is the larger of it and its former content, which is no NaN
  bool other_bits = false;           // one element is the next larger number, which is right as well
  size_t output = 0, element = 0;    // that these five members are about
  bool stray_write = false;          // writes behind the output
  bool changed_input = false;
  bool stale = false;  // the outputs are those of the plan's call before; of a batch, those that were there
};

// How a plugin makes its durations look better than they are.
enum class Cheat {
  kNone,
  kForges,         // a hundredth of each duration
  kSkips,          // executes every other one of a batch
  kIsLazy,         // computes when an output is downloaded
  kIsEager,        // computes when inputs are uploaded to a set that was executed before
  kFinishesLater,  // returns before the output is there, which comes after the next call
  kRemembers,      // knows outputs by the whole content of the inputs
  kSamples,        // knows them by the first bytes of each
  kSparesLast      // leaves the last element of an output as it was in the thirtieth execution of a plan
};

// Durations of calls by the host's clock.
struct FakeTimes {
  double kernel_s = 0.001, round_trip_s = 20e-6, copy_s = 5e-6;
  std::function<double()> jitter = [] { return 0.0; };  // of each call
};

class FakeSession final : public Session {
 public:
  using Behaviour = std::function<Deed(const FakeCall&)>;
  using Offered = std::function<std::vector<ImplementationInfo>(const Problem&, const LayoutVariant&)>;

  // Offers one implementation, "plain", of contract "f32acc".
  FakeSession();

  using Session::Prepare;
  using Session::Query;
  Call<BackendDescription> Describe() override;
  Call<std::vector<ImplementationInfo>> Query(int64_t device, const Problem& problem,
                                              const LayoutVariant& layout) override;
  Call<Prepared> Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                         const LayoutVariant& layout) override;
  Call<Execution> Execute(uint64_t plan, std::span<const Tensor* const> inputs, Prefill prefill) override;
  Call<void> Bind(uint64_t plan, size_t sets) override;
  Call<std::span<std::byte>> Staged(uint64_t plan, size_t set, size_t operand) override;
  Call<double> Upload(uint64_t plan, std::span<const Piece> pieces) override;
  Call<double> Download(uint64_t plan, size_t set, Part part, Execution& execution) override;
  Call<Batch> ExecuteBatch(uint64_t plan, const BatchRequest& request) override;
  TransferTimes Transfers(uint64_t) override { return {1e-3, 1e-3, 1000, 1000}; }
  bool AwaitIdle(double) const override { return true; }
  Call<void> Release(uint64_t plan) override;
  void Restart() override;
  uint64_t workers_started() const override { return static_cast<uint64_t>(workers_); }
  void ShareTime(std::shared_ptr<SharedTime>) override {}

  // Decides what each call does wrong.
  Behaviour behave = [](const FakeCall&) { return Deed(); };
  Offered offer;  // empty: unsupported
  bool flushes_caches = true;
  Cheat cheat = Cheat::kNone;  // in batches
  FakeTimes times;

  // Log of the calls and of the plans' ends.
  std::vector<FakeCall> calls;
  std::vector<FakeCall> CallsOf(Asked what) const;
  size_t open_plans() const { return plans_.size(); }
  int released = 0;        // plans that were there
  int released_twice = 0;  // plans that the same worker had released before
  int lost = 0;            // plans that went with their worker

 private:
  // A set of operands: the inputs, then the outputs. An output in place of an input is in it twice.
  struct Set {
    std::vector<Tensor> staged, there;
    bool executed = false, pending = false;  // pending: its outputs are not there yet
  };
  struct Plan {
    Problem problem;
    std::string implementation;
    bool padded = false;
    bool cold = false;           // the last batch
    int runs = 0;                // executions of sets
    size_t batch = 0;            // its executions
    std::vector<Tensor> last;    // outputs of the call before
    std::vector<Tensor> inputs;  // of the first call
    std::vector<Set> sets;
    std::map<uint64_t, std::vector<Tensor>> remembered;  // outputs by what was seen of their inputs
  };

  // Notes the call, starts a worker where none is, and fails where it is told to.
  Call<Deed> Begin(FakeCall call);
  Call<Plan*> FindPlan(uint64_t plan);
  FakeCall CallFor(Asked what, const Plan& plan) const;
  Execution Compute(Plan& plan, std::span<const Tensor* const> inputs, Prefill prefill, const Deed& deed);
  double Run(Plan& plan, Set& set);  // seconds that it takes
  void EndWorker();

  bool running_ = false;
  int workers_ = 0;
  uint64_t next_plan_ = 1;
  std::map<uint64_t, Plan> plans_;
  std::set<uint64_t> released_;
};

}  // namespace assay::test
