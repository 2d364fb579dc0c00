// SPDX-License-Identifier: Apache-2.0
// An operator of the registry whose host side fails where it is told to: what the harness makes of a fault of its own.
#pragma once

#include <atomic>
#include <new>
#include <stdexcept>

#include "harness/core/base/parallel.h"
#include "ops/operator.h"
#include "ops/relation.h"

namespace assay::test {

// Part of the work on a case that fails. Golden values run out of memory, on the threads of the pool; the others throw
// kFault.
enum class HostWork { kNone, kGolden, kBound, kTwin, kMutants, kCanonicalise, kRelations };

class FailingOperator final : public Operator {
 public:
  static constexpr const char* kFault = "told to fail";

  explicit FailingOperator(const Operator& real) : real_(real) {}

  std::atomic<HostWork> fails_at = HostWork::kNone;
  mutable std::atomic<int> holds = 0;  // so many times before

  const OpSchema& schema() const override { return real_.schema(); }
  Result<Problem> Bind(const CaseSpec& spec) const override { return real_.Bind(spec); }
  std::vector<Tensor> MakeInputs(const Problem& problem) const override { return real_.MakeInputs(problem); }
  Golden ComputeGolden(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                       Tier tier) const override {
    if (FailsAt(HostWork::kGolden)) ParallelFor(64, 1, [](int64_t, int64_t) { throw std::bad_alloc(); });
    return real_.ComputeGolden(problem, output, inputs, tier);
  }
  BoundModel Bound(const Problem& problem, size_t output, const Golden& golden,
                   const Contract& contract) const override {
    Pass(HostWork::kBound);
    return real_.Bound(problem, output, golden, contract);
  }
  std::optional<Twin> MakeTwin(const Problem& problem, size_t output, const Contract& contract,
                               int variant) const override {
    Pass(HostWork::kTwin);
    return real_.MakeTwin(problem, output, contract, variant);
  }
  int TwinVariants(const Problem& problem, size_t output, const Contract& contract) const override {
    return real_.TwinVariants(problem, output, contract);
  }
  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    Pass(HostWork::kMutants);
    return real_.OmittedTerms(problem, output, inputs, values, elements);
  }
  std::vector<Relation> Relations(const Problem& problem, size_t output) const override {
    Pass(HostWork::kRelations);
    return real_.Relations(problem, output);
  }
  void Canonicalise(const Problem& problem, size_t output, std::span<const Tensor> inputs, Tensor& got) const override {
    Pass(HostWork::kCanonicalise);
    real_.Canonicalise(problem, output, inputs, got);
  }

 private:
  bool FailsAt(HostWork work) const { return fails_at == work && holds-- <= 0; }
  void Pass(HostWork work) const {
    if (FailsAt(work)) throw std::runtime_error(kFault);
  }

  const Operator& real_;
};

}  // namespace assay::test
