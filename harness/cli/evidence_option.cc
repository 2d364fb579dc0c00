// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/evidence_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/terminal/output.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/environment.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/statement.h"

namespace assay::cli {
namespace {

constexpr size_t kLeastSecret = 16, kMostSecret = 4096;

// Its bytes go into evidence.json after the run, as text.
Result<std::string> ReadSecret(const std::filesystem::path& path) {
  auto text = ReadWholeFile(path);
  if (!text) return UsageError("--evidence-seed: " + text.error().message);
  const bool printable = std::ranges::all_of(*text, [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; });
  if (printable && text->size() >= kLeastSecret && text->size() <= kMostSecret) return text;
  return UsageError(
      fmt::format("--evidence-seed {}: not a text of {} to {} characters, such as "
                  "`openssl rand -hex 32` writes",
                  path.string(), kLeastSecret, kMostSecret));
}

const PlannedCase* FindSampled(const std::vector<PlannedCase>& cases) {
  const auto sampled = std::ranges::find_if(cases, [](const PlannedCase& planned) { return planned.sample > 0; });
  return sampled == cases.end() ? nullptr : &*sampled;
}

}  // namespace

Result<std::string> FindSecret(const EvidenceOptions& options) {
  return options.seed ? ReadSecret(*options.seed) : Result<std::string>(DrawSecret());
}

Result<BegunEvidence> BeginEvidence(const EvidenceOptions& options, BegunRun& run) {
  if (options.results == 0) return BegunEvidence();
  if (const PlannedCase* sampled = FindSampled(run.prepared.selection.cases); sampled != nullptr) {
    return UsageError(
        fmt::format("--evidence keeps whole results, and {} has a sample ({}) judged: leave it out with "
                    "--filter '-{}'",
                    sampled->spec.Id(), sampled->where, sampled->spec.Id()));
  }
  auto secret = FindSecret(options);
  if (!secret) return tl::unexpected(secret.error());
  return BeginEvidence(options, *std::move(secret), run);
}

Result<BegunEvidence> BeginEvidence(const EvidenceOptions& options, std::string secret, BegunRun& run) {
  BegunEvidence evidence{
      .draw = MakeDraw(std::move(secret), options.challenge, options.results, run.prepared.plan.shard),
      .stored = std::make_shared<StoredOutputs>(run.folder.path())};
  EvidenceDraw without_secret = evidence.draw;
  without_secret.secret.clear();
  if (auto status = run.folder.WriteText(kEvidenceFile, EvidenceJson({.draws = {without_secret}})); !status) {
    return tl::unexpected(status.error());
  }
  std::vector<std::string> files;
  for (const Device& device : run.devices()) files.push_back(device.path);
  for (const std::string& list : run.prepared.expectations.files) files.push_back(list.substr(0, list.rfind(" xxh3:")));
  run.environment[kHashesKey] = DescribeFiles(files);
  run.environment[kEvidenceKey] = TermsOf(evidence.draw);
  if (auto status = run.folder.WriteJson("environment.json", run.environment); !status) {
    return tl::unexpected(status.error());
  }
  Note(fmt::format("evidence: outputs are kept, and assay bundle draws those of {}; commitment {}",
                   Counted(static_cast<int64_t>(options.results), "result"), evidence.draw.commitment));
  run.policy.runner.keep_outputs = [stored = evidence.stored](const Record& record, const Problem& problem,
                                                              const std::vector<Tensor>& outputs) {
    stored->Keep(record, problem, outputs);
  };
  return evidence;
}

void EndEvidence(BegunEvidence evidence, const BegunRun& run) {
  if (!evidence.stored) return;
  if (!evidence.stored->problem().empty()) Note("outputs are not kept: " + evidence.stored->problem());
  if (const uint64_t most = evidence.stored->most_bytes(); most < kMostStoredBytes) {
    Note(fmt::format("outputs of results of more than {} bytes are not kept, since all together exceed {} GiB", most,
                     kMostKeptBytes >> 30));
  }
  if (auto status = run.folder.WriteText(kEvidenceFile, EvidenceJson({.draws = {evidence.draw}})); !status) {
    return Note(status.error().message);
  }
  Note(
      fmt::format("evidence: the hash of the run's files is {}; send it to whoever gets the evidence, who may answer "
                  "with a challenge for assay bundle --challenge",
                  HashOfRunFiles(run.folder.path())));
}

}  // namespace assay::cli
