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

// A step is one batch of a timed loop; the end is where its outputs come back.
enum class Asked { kDescribe, kQuery, kPrepare, kExecute, kBegin, kStep, kEnd, kRelease };

struct FakeCall {
  Asked what = Asked::kQuery;
  std::string implementation, case_id;
  bool padded = false;
  int number = 0;        // of those of this kind, implementation, case and layout, over all workers, from 0
  int worker = 1;        // that answers
  bool own = true;       // an execution of the inputs of the first one of this kind, case and layout
  bool cold = false;     // of a timed loop
  size_t input_set = 0;  // of the end of a timed loop, which is asked once for each
};

// What one call does wrong.
struct Deed {
  std::optional<Outcome> fails;  // those that a worker does not survive take all plans along
  bool wrong = false;            // the first element
  bool unwritten = false;        // the first element keeps the prefill
  bool other_bits = false;       // the first element is the next larger number, which is right as well
  bool stray_write = false;      // behind the output
  bool changed_input = false;
  bool stale = false;  // the output is that of the plan's call before, or in a timed loop of the first set
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
  Call<std::shared_ptr<TimingRun>> BeginTiming(uint64_t plan, std::vector<InputSet> sets,
                                               TimingRequest request) override;
  bool AwaitIdle(double) const override { return true; }
  Call<void> Release(uint64_t plan) override;
  void Restart() override;
  uint64_t workers_started() const override { return static_cast<uint64_t>(workers_); }
  void ShareTime(std::shared_ptr<SharedTime>) override {}

  // Told before it is asked.
  Behaviour behave = [](const FakeCall&) { return Deed(); };
  Offered offer;  // nothing: unsupported
  bool flushes_caches = true;

  // What became of it.
  std::vector<FakeCall> calls;
  std::vector<FakeCall> CallsOf(Asked what) const;
  size_t open_plans() const { return plans_.size(); }
  int released = 0;        // plans that were there
  int released_twice = 0;  // plans that the same worker had released before
  int lost = 0;            // plans that went with their worker

 private:
  class BatchedRun;
  struct Plan {
    Problem problem;
    std::string implementation;
    bool padded = false;
    Tensor last;                 // output of the call before
    std::vector<Tensor> inputs;  // of the first call
  };

  // Notes the call, starts a worker where none is, and fails where it is told to.
  Call<Deed> Begin(FakeCall call);
  Call<Plan*> FindPlan(uint64_t plan);
  FakeCall CallFor(Asked what, const Plan& plan) const;
  static Execution Compute(Plan& plan, std::span<const Tensor* const> inputs, Prefill prefill, const Deed& deed);
  void EndWorker();

  bool running_ = false;
  int workers_ = 0;
  uint64_t next_plan_ = 1;
  std::map<uint64_t, Plan> plans_;
  std::set<uint64_t> released_;
};

}  // namespace assay::test
