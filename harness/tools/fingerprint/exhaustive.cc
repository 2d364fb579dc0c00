// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/exhaustive.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/fingerprint/function_inputs.h"

namespace assay {
namespace {

constexpr int64_t kChunkPairs = int64_t{1} << 20;
constexpr int kMostParts = 1024;

}  // namespace

Result<SharedCase> BindExhaustive(const BoundCase& bound) {
  const auto refuse = [&] {
    return UsageError(
        fmt::format("{} maps no single elements of floats to floats; --exhaustive takes operators with "
                    "one operand of n elements, such as exp",
                    bound.problem.spec.op));
  };
  if (bound.problem.inputs.empty() || !IsFloat(bound.problem.inputs[0].dtype)) return refuse();
  const DType type = bound.problem.inputs[0].dtype;
  if (SizeOf(type) > 4) {
    return UsageError(
        fmt::format("{} has 2^64 numbers; leave --exhaustive out for a sample of 2^22 of them", Name(type)));
  }
  CaseSpec spec = bound.problem.spec;
  const int64_t pairs = FunctionInputs::MakeAll(type).pairs();
  // A chunk behind another one begins with the last pair before it.
  const int64_t taken = pairs > kChunkPairs ? kChunkPairs + 1 : pairs;
  for (auto& [key, value] : spec.attrs) {
    if (key == "n") value = std::to_string(2 * taken);
  }
  auto chunk = BindCase(spec);
  if (chunk && !IsMap(**chunk)) return refuse();
  return chunk;
}

Exhaustive::Exhaustive(const BoundCase& chunk, Shard shard, std::filesystem::path folder)
    : chunk_(chunk), shard_(shard), folder_(std::move(folder)) {
  const int64_t pairs = FunctionInputs::MakeAll(chunk.problem.inputs[0].dtype).pairs();
  chunk_pairs_ = std::min(pairs, kChunkPairs), lead_ = pairs > kChunkPairs ? 1 : 0;
  const int64_t chunks = pairs / chunk_pairs_;
  parts_ = static_cast<int>(std::min<int64_t>(chunks, kMostParts));
  chunks_in_part_ = chunks / parts_;
}

std::vector<int> Exhaustive::OwnParts() const {
  std::vector<int> own;
  for (int part = 0; part < parts_; ++part) {
    if (part % shard_.count == shard_.index) own.push_back(part);
  }
  return own;
}

std::string Exhaustive::StemOf(const ExhaustiveSubject& subject) const {
  std::string stem =
      fmt::format("{} {} {}", subject.device->selector, chunk_.problem.spec.Id(), subject.implementation);
  std::ranges::replace_if(
      stem, [](char c) { return c == '/' || c == ' ' || c == ',' || c == '=' || c == ':'; }, '-');
  return stem;
}

Json Exhaustive::HeadOf(const ExhaustiveSubject& subject) const {
  return {{"case", chunk_.problem.spec.Id()},
          {"device", subject.device->device.name},
          {"library", subject.device->description.library_version},
          {"implementation", subject.implementation},
          {"contract", subject.contract}};
}

Status Exhaustive::Load(ExhaustiveSubject& subject) const {
  std::error_code ignored;
  const std::string stem = StemOf(subject);
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(stem + ".") || !name.ends_with(".json") || IsTemporaryName(entry.path())) continue;
    const auto text = ReadWholeFile(entry.path().string());
    if (!text) return tl::unexpected(text.error());
    const Json json = ParseJson(*text);
    if (!json.is_object() || !json.contains("of") || !json.contains("parts") || !json["parts"].is_object()) {
      return UsageError(entry.path().string() + " holds no parts of assay fingerprint --exhaustive; remove it");
    }
    if (json["of"] != HeadOf(subject)) {
      return UsageError(fmt::format("{} is of {}, not of {}; give another folder", entry.path().string(),
                                    json["of"].dump(), HeadOf(subject).dump()));
    }
    for (const auto& [number, errors] : json["parts"].items()) {
      auto part = ParseFunctionErrors(errors, entry.path().string());
      if (!part) return tl::unexpected(part.error());
      subject.parts[std::atoi(number.c_str())] = *part;
    }
  }
  return {};
}

Status Exhaustive::Keep(const ExhaustiveSubject& subject) const {
  if (folder_.empty()) return {};
  Json parts = Json::object();
  for (const int part : OwnParts()) {
    const auto found = subject.parts.find(part);
    if (found != subject.parts.end()) parts[std::to_string(part)] = ToJson(found->second);
  }
  const std::string text = DumpJson(Json{{"of", HeadOf(subject)}, {"parts", parts}}, 1) + "\n";
  return WriteFileAtomically(folder_ / fmt::format("{}.{}of{}.json", StemOf(subject), shard_.index, shard_.count),
                             {{text.data(), text.size()}});
}

Status Exhaustive::MeasurePart(int part, std::vector<ExhaustiveSubject>& subjects) const {
  const Problem& problem = chunk_.problem;
  const FunctionInputs all = FunctionInputs::MakeAll(problem.inputs[0].dtype);
  const auto lacks = [&](const ExhaustiveSubject& subject) {
    return subject.failure.empty() && !subject.parts.contains(part);
  };
  std::vector<FunctionErrors> measured(subjects.size());
  std::vector<Tensor> inputs;
  inputs.emplace_back(problem.inputs[0].dtype, problem.inputs[0].shape);
  for (int64_t chunk = part * chunks_in_part_; chunk < (part + 1) * chunks_in_part_; ++chunk) {
    if (std::ranges::none_of(subjects, lacks)) return {};
    // Zero has no pair before it: the first chunk reaches one pair farther instead, which the second one counts.
    const bool has_lead = lead_ > 0 && chunk > 0;
    all.Fill(chunk * chunk_pairs_ - (has_lead ? 1 : 0), inputs[0]);
    const ExactResults exact(chunk_, inputs[0], {has_lead ? 1 : 0, chunk_pairs_ + (has_lead ? 1 : 0)});
    for (size_t s = 0; s < subjects.size(); ++s) {
      if (!lacks(subjects[s])) continue;
      const auto execution = subjects[s].plan.Execute(inputs, Prefill::kNanPayload);
      if (!execution) {
        subjects[s].failure = execution.error().message;
        continue;
      }
      measured[s].Merge(exact.Measure(execution->outputs.front()));
    }
  }
  for (size_t s = 0; s < subjects.size(); ++s) {
    if (!lacks(subjects[s])) continue;
    subjects[s].parts[part] = measured[s];
    if (auto kept = Keep(subjects[s]); !kept) return kept;
  }
  return {};
}

FunctionPassport Exhaustive::PassportOf(const ExhaustiveSubject& subject) const {
  FunctionPassport passport{.case_id = chunk_.problem.spec.Id(),
                            .implementation = subject.implementation,
                            .contract = subject.contract,
                            .errors = {},
                            .parts_done = static_cast<int>(subject.parts.size()),
                            .parts = parts_};
  for (const auto& [number, errors] : subject.parts) passport.errors.Merge(errors);
  return passport;
}

}  // namespace assay
