// SPDX-License-Identifier: Apache-2.0
#include "harness/cases/case_data.h"

#include <fmt/format.h>

#include "harness/base/profile.h"
#include "harness/base/stopwatch.h"
#include "harness/cases/host_memory.h"
#include "harness/data/fill/fill.h"

namespace assay {
namespace {

// Computes the golden value that the store lacks or holds damaged, and keeps it there. Says what became of the file.
void ComputeAndKeep(const GoldenStore& store, const GoldenKey& key, const std::string& damage, CaseData& data) {
  data.golden = data.op->ComputeGolden(data.problem, data.inputs, key.tier);
  const Status saved = store.Save(key, data.golden);
  if (!damage.empty()) {
    data.note = fmt::format(
        "golden store: {}; not used: the value was computed anew{} (assay golden verify checks the other files)",
        damage, saved ? " and the file replaced" : "");
  }
  if (saved) return;
  data.unsaved = fmt::format(
      "golden store: {}; the value was computed and is used, but not kept for later runs. Make room there, or name "
      "another folder in ASSAY_GOLDEN_STORE",
      saved.error().message);
}

}  // namespace

std::string HashInputs(const std::vector<Tensor>& inputs) {
  std::vector<uint64_t> hashes;
  for (const Tensor& t : inputs) hashes.push_back(HashBytes(t.data(), t.bytes()));
  return HashHex(HashBytes(hashes.data(), hashes.size() * sizeof(uint64_t)));
}

Tier ChooseTier(const std::string& tier, const Problem& problem) {
  if (tier == "reproducible") return Tier::kReproducible;
  if (tier == "fast") return Tier::kFast;
  const DType out = problem.output().dtype;
  return out == DType::kF64 || out == DType::kC128 ? Tier::kReproducible : Tier::kFast;
}

Result<CaseData> PrepareInputs(const CaseSpec& spec) {
  const auto bound = BindCase(spec);
  if (!bound) return tl::unexpected(bound.error());
  return PrepareInputs(**bound);
}

Result<CaseData> PrepareCase(const CaseSpec& spec, const std::string& tier, const GoldenStore& store) {
  const auto bound = BindCase(spec);
  if (!bound) return tl::unexpected(bound.error());
  return PrepareCase(**bound, tier, store);
}

Result<CaseData> PrepareInputs(const BoundCase& bound) {
  CaseData data;
  data.op = bound.op;
  data.problem = bound.problem;
  if (auto fits = CheckFitsHost(data.problem); !fits) return tl::unexpected(fits.error());

  const Span span(Phase::kInputs);
  const Stopwatch input_time;
  data.inputs = data.op->MakeInputs(data.problem);
  data.input_hash = HashInputs(data.inputs);
  data.input_s = input_time.Seconds();
  return data;
}

Result<CaseData> PrepareCase(const BoundCase& bound, const std::string& tier, const GoldenStore& store) {
  auto prepared = PrepareInputs(bound);
  if (!prepared) return prepared;
  CaseData& data = *prepared;

  const Span span(Phase::kGolden);
  const Stopwatch golden_time;
  const GoldenKey key{data.problem.spec.Id(), data.input_hash, ChooseTier(tier, data.problem)};
  auto stored = store.Load(key);
  if (stored && *stored) {
    data.golden = std::move(**stored);
  } else {
    ComputeAndKeep(store, key, stored ? "" : stored.error().message, data);
  }
  data.golden_hash = GoldenHash(data.golden);
  data.golden_s = golden_time.Seconds();
  return prepared;
}

Result<CaseData> PrepareSecondSet(const CaseData& data) {
  BoundCase other{data.op, data.problem};
  ++other.problem.spec.seed;
  auto second = PrepareInputs(other);
  if (second && second->input_hash == data.input_hash) {
    other.problem.spec.fill = "uniform";
    second = PrepareInputs(other);
  }
  if (!second) return second;
  if (second->input_hash == data.input_hash) return Fail(ErrorCode::kUsage, "every seed has the same data");
  const Span span(Phase::kGolden);
  second->golden = second->op->ComputeGolden(second->problem, second->inputs, data.golden.tier);
  return second;
}

BoundModel BoundOf(const CaseData& data, const Contract& contract) {
  BoundModel bound = data.op->Bound(data.problem, data.golden, contract);
  // The statistic speaks of random data; check, whose data are whatever the user has, only advises.
  const Result<FillSpec> fill = ParseFill(data.problem.spec.fill);
  if (!fill || !IsRandomLike(*fill)) bound.statistic.applicable = false;
  return bound;
}

ContractData PrepareContract(const CaseData& data, const Contract& contract) {
  ContractData result;
  {
    const Span span(Phase::kBounds);
    result.bound = BoundOf(data, contract);
  }
  std::vector<Twin> twins;
  std::vector<int> variants;
  {
    const Span span(Phase::kTwins);
    for (int variant = 0; variant < data.op->TwinVariants(data.problem, contract); ++variant) {
      auto twin = data.op->MakeTwin(data.problem, contract, variant);
      if (!twin) continue;
      twins.push_back(std::move(*twin));
      variants.push_back(variant);
    }
  }
  {
    const Span span(Phase::kMutationPower);
    result.power =
        MeasureMutationPower(*data.op, data.problem, data.inputs, data.golden, result.bound, contract, twins);
  }
  for (size_t i = 0; i < twins.size(); ++i) {
    if (twins[i].costly || !IsLarge(data.problem)) {
      result.twins.emplace_back(std::move(twins[i]));
      continue;
    }
    result.twins.emplace_back(twins[i].tolerance_ulp, [&data, contract, variant = variants[i]] {
      const Span span(Phase::kTwins);
      ReturnFreedMemory();
      return data.op->MakeTwin(data.problem, contract, variant).value();
    });
  }
  twins.clear();
  if (IsLarge(data.problem)) ReturnFreedMemory();
  return result;
}

}  // namespace assay
