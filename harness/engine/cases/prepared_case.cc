// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/prepared_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/core/base/profile.h"
#include "harness/core/base/stopwatch.h"
#include "harness/core/data/fill/fill.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

// Computes the golden value that the store lacks or holds damaged, and keeps it there. Says what became of the file.
void ComputeAndKeep(const GoldenStore& store, const GoldenKey& key, const std::string& damage, PreparedOutput& output,
                    PreparedCase& data) {
  output.golden = data.op->ComputeGolden(data.problem, output.number, data.inputs, key.tier);
  const Status saved = store.Save(key, output.golden);
  if (!damage.empty()) {
    data.note = fmt::format(
        "golden store: {}; the file is not used, and the value was computed again{} (assay golden verify checks the "
        "other files)",
        damage, saved ? " and the file replaced" : "");
  }
  if (saved) return;
  data.unsaved = fmt::format(
      "golden store: {}; the value was computed and is used, but not kept for later runs. Make room there, or name "
      "another folder in ASSAY_GOLDEN_STORE",
      saved.error().message);
}

// Golden values of data that no later run has: they are not stored.
void ComputeAll(PreparedCase& data, Tier tier) {
  const Span span(Phase::kGolden);
  for (PreparedOutput& output : data.outputs) {
    output.golden = data.op->ComputeGolden(data.problem, output.number, data.inputs, tier);
  }
}

PreparedCase MakeUnpreparedData(const BoundCase& bound) {
  PreparedCase data;
  data.op = bound.op;
  data.problem = bound.problem;
  for (size_t k = 0; k < data.problem.outputs.size(); ++k) data.outputs.push_back({k});
  return data;
}

PreparedCase MakeData(const BoundCase& bound) {
  PreparedCase data = MakeUnpreparedData(bound);
  const Span span(Phase::kInputs);
  const Stopwatch input_time;
  data.inputs = data.op->MakeInputs(data.problem);
  data.input_hash = HashInputs(data.inputs);
  data.input_s = input_time.Seconds();
  return data;
}

// Writes the sampled slices of input `number` to their places.
void PutSlices(std::span<const SliceCut> cuts, size_t number, const Tensor& sample, Tensor& whole) {
  std::vector<const std::vector<int64_t>*> places(sample.shape().size());  // along each axis; null: all are there
  size_t axes = 0;  // up to the last one that is cut: what lies behind it is one piece
  for (const SliceCut& cut : cuts) {
    if (cut.inputs[number] < 0) continue;
    const auto axis = static_cast<size_t>(cut.inputs[number]);
    places[axis] = &cut.indices;
    axes = std::max(axes, axis + 1);
  }
  const Shape strides = RowMajorStrides(whole.shape()), own = RowMajorStrides(sample.shape());
  const int64_t piece = axes == 0 ? sample.size() : own[axes - 1];
  const auto size = static_cast<size_t>(SizeOf(sample.dtype()));
  for (int64_t at = 0; at < sample.size(); at += piece) {
    int64_t to = 0;
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t index = at / own[axis] % sample.shape()[axis];
      to += (places[axis] == nullptr ? index : (*places[axis])[static_cast<size_t>(index)]) * strides[axis];
    }
    std::memcpy(whole.data() + static_cast<size_t>(to) * size, sample.data() + static_cast<size_t>(at) * size,
                static_cast<size_t>(piece) * size);
  }
}

// Puts about so many elements in place of the case where its outputs have more.
void DrawSample(int64_t elements, PreparedCase& data) {
  const SampleRequest request{elements, SampleSeedOf(data.input_hash)};
  std::optional<DrawnPart> drawn = DrawPart(*data.op, data.problem, data.inputs, {}, request);
  if (!drawn) return;
  data.whole = {std::move(data.inputs), std::move(drawn->sample)};
  data.problem = std::move(drawn->part.problem);
  data.inputs = std::move(drawn->part.inputs);
  data.input_hash = HashInputs(data.inputs);
}

}  // namespace

std::vector<Tensor> PreparedCase::SampleOf(const std::vector<Tensor>& executed) const {
  std::vector<Tensor> sample;
  for (const Tensor& output : executed) sample.push_back(TakeOutput(whole->sample.cuts, output, sample.size()));
  return sample;
}

std::vector<Tensor> PreparedCase::InputsAround(const std::vector<Tensor>& sample) const {
  std::vector<Tensor> around;
  for (const Tensor& input : whole->inputs) {
    Tensor& made = around.emplace_back(input.Clone());
    PutSlices(whole->sample.cuts, around.size() - 1, sample[around.size() - 1], made);
  }
  return around;
}

std::string HashInputs(const std::vector<Tensor>& inputs) {
  std::vector<uint64_t> hashes;
  for (const Tensor& t : inputs) hashes.push_back(HashBytes(t.data(), t.bytes()));
  return HashHex(HashBytes(hashes.data(), hashes.size() * sizeof(uint64_t)));
}

Tier ChooseTier(const std::string& tier, const Problem& problem) {
  if (tier == "reproducible") return Tier::kReproducible;
  if (tier == "fast") return Tier::kFast;
  const bool wide = std::ranges::any_of(problem.outputs, [](const Operand& output) {
    return output.dtype == DType::kF64 || output.dtype == DType::kC128;
  });
  return wide ? Tier::kReproducible : Tier::kFast;
}

GoldenKey KeyOf(const PreparedCase& data, size_t output, Tier tier) {
  return {data.problem.spec.Id(), data.input_hash, tier, output == 0 ? "" : data.problem.outputs[output].name,
          data.op->FormulaDigest(data.problem, output)};
}

std::string GoldenHashOf(const PreparedCase& data) {
  std::string all;
  for (const PreparedOutput& output : data.outputs) all += GoldenHash(output.golden);
  return data.outputs.size() == 1 ? all : HashHex(HashBytes(all.data(), all.size()));
}

Result<PreparedCase> PrepareInputs(const CaseSpec& spec) {
  const auto bound = BindCase(spec);
  if (!bound) return tl::unexpected(bound.error());
  return PrepareInputs(**bound);
}

Result<PreparedCase> PrepareCase(const CaseSpec& spec, const std::string& tier, const GoldenStore& store) {
  const auto bound = BindCase(spec);
  if (!bound) return tl::unexpected(bound.error());
  return PrepareCase(**bound, tier, store);
}

Result<PreparedCase> PrepareInputs(const BoundCase& bound) {
  const Status fits = CheckFitsHost(bound.problem, MemoryUse::kJudgement, "auto");
  if (!fits) return tl::unexpected(fits.error());
  return MakeData(bound);
}

Result<PreparedCase> PrepareCase(const BoundCase& bound, const std::string& tier, const GoldenStore& store,
                                 MemoryUse use, const PrepareLimits& limits) {
  if (Status permitted = CheckPermitted(bound.problem, use, tier, limits.most_bytes, limits.sample); !permitted)
    return tl::unexpected(permitted.error());
  const Status fits = CheckFitsHost(bound.problem, use, tier, AvailableBytes, limits.sample);
  if (!fits) return tl::unexpected(fits.error());
  PreparedCase data = MakeData(bound);
  DrawSample(limits.sample, data);

  const Span span(Phase::kGolden);
  const Stopwatch golden_time;
  for (size_t k = 0; k < data.outputs.size(); ++k) {
    const GoldenKey key = KeyOf(data, k, ChooseTier(tier, data.problem));
    auto stored = store.Load(key);
    if (stored && *stored) {
      data.outputs[k].golden = std::move(**stored);
    } else {
      ComputeAndKeep(store, key, stored ? "" : stored.error().message, data.outputs[k], data);
    }
  }
  data.golden_hash = GoldenHashOf(data);
  data.golden_s = golden_time.Seconds();
  return data;
}

PreparedCase WithoutData(const BoundCase& bound, const std::string& tier) {
  PreparedCase data = MakeUnpreparedData(bound);
  for (PreparedOutput& output : data.outputs) output.golden.tier = ChooseTier(tier, data.problem);
  return data;
}

Result<PreparedCase> PrepareSecondSet(const PreparedCase& data) {
  BoundCase other{data.op, data.problem};
  ++other.problem.spec.seed;
  PreparedCase second = MakeData(other);
  if (second.input_hash == data.input_hash) {
    other.problem.spec.fill = "uniform";
    second = MakeData(other);
  }
  if (second.input_hash == data.input_hash) return Fail(ErrorCode::kUsage, "every seed has the same data");
  ComputeAll(second, data.golden().tier);
  return second;
}

bool HasPlainData(const PreparedCase& data) {
  const std::string& fill = data.problem.spec.fill;
  return fill == "normal" || fill == "uniform";
}

PreparedCase PrepareRandomSet(const PreparedCase& data) {
  BoundCase other{data.op, data.problem};
  other.problem.spec.fill = "normal";
  PreparedCase random = MakeData(other);
  ComputeAll(random, ChooseTier("auto", data.problem));
  return random;
}

BoundModel BoundOf(const PreparedCase& data, const Contract& contract, size_t output) {
  BoundModel bound = data.op->Bound(data.problem, output, data.outputs[output].golden, contract);
  // check has none, and says itself whether data look random.
  const Result<FillSpec> fill = ParseFill(data.problem.spec.fill);
  if (!fill || !StatisticFits(*fill, bound.statistic)) bound.statistic.applicable = false;
  return bound;
}

namespace {

struct MadeTwins {
  std::vector<Twin> twins;
  std::vector<int> variants;
};

MadeTwins MakeTwins(const Operator& op, const Problem& problem, size_t output, const Contract& contract) {
  const Span span(Phase::kTwins);
  MadeTwins made;
  for (int variant = 0; variant < op.TwinVariants(problem, output, contract); ++variant) {
    auto twin = op.MakeTwin(problem, output, contract, variant);
    if (!twin) continue;
    made.twins.push_back(std::move(*twin));
    made.variants.push_back(variant);
  }
  return made;
}

// Bound, power and twins of one output.
void PrepareOutput(const PreparedCase& data, const Contract& contract, size_t number, ContractData& result) {
  const PreparedOutput& output = data.outputs[number];
  ContractData::OfOutput& of = result.outputs[number];
  {
    const Span span(Phase::kBounds);
    of.bound = BoundOf(data, contract, number);
  }
  MadeTwins made = MakeTwins(*data.op, data.problem, number, contract);
  {
    const Span span(Phase::kMutationPower);
    of.power = MeasureMutationPower(*data.op, data.problem, number, data.inputs, output.golden, of.bound, contract,
                                    made.twins);
  }
  for (size_t i = 0; i < made.twins.size(); ++i) {
    Twin& twin = made.twins[i];
    if (twin.costly || !IsLarge(data.problem)) {
      result.twins.emplace_back(std::move(twin), number);
      continue;
    }
    const auto make = [&op = *data.op, &problem = data.problem, number, contract, variant = made.variants[i]] {
      const Span span(Phase::kTwins);
      ReturnFreedMemory();
      return op.MakeTwin(problem, number, contract, variant).value();
    };
    result.twins.emplace_back(twin.tolerance_ulp, make, number);
  }
}

}  // namespace

ContractData PrepareContract(const PreparedCase& data, const Contract& contract) {
  ContractData result;
  result.outputs.resize(data.outputs.size());
  for (size_t number = 0; number < data.outputs.size(); ++number) PrepareOutput(data, contract, number, result);
  if (IsLarge(data.problem)) ReturnFreedMemory();
  return result;
}

}  // namespace assay
