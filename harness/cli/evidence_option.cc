// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/evidence_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/whole_file.h"
#include "harness/cli/terminal/output.h"
#include "harness/evidence/draw.h"
#include "harness/evidence/statement.h"

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

}  // namespace

Result<std::string> FindSecret(const RunOptions& options) {
  return options.evidence_seed ? ReadSecret(*options.evidence_seed) : Result<std::string>(DrawSecret());
}

Result<std::shared_ptr<StoredOutputs>> BeginEvidence(const RunOptions& options, BegunRun& run) {
  if (options.evidence == 0) return std::shared_ptr<StoredOutputs>();
  auto secret = FindSecret(options);
  if (!secret) return tl::unexpected(secret.error());
  return BeginEvidence(options, run, *std::move(secret));
}

Result<std::shared_ptr<StoredOutputs>> BeginEvidence(const RunOptions& options, BegunRun& run, std::string secret) {
  const EvidenceDraw draw = MakeDraw(run.prepared.plan, std::move(secret), options.challenge, options.evidence);
  if (auto status = run.folder.WriteText(kEvidenceFile, EvidenceJson({draw})); !status) {
    return tl::unexpected(status.error());
  }
  std::vector<std::string> plugins;
  for (const Device& device : run.devices()) plugins.push_back(device.path);
  run.environment[kHashesKey] = DescribeFiles(plugins);
  run.environment["evidence_commitment"] = draw.commitment;
  if (auto status = run.folder.WriteJson("environment.json", run.environment); !status) {
    return tl::unexpected(status.error());
  }
  Note(fmt::format("evidence: the outputs of {} drawn cases and of all failures are kept; commitment {}",
                   draw.cases.size(), draw.commitment));
  auto stored = std::make_shared<StoredOutputs>(run.folder.path(), draw.cases);
  run.settings.runner.keep_outputs = [stored](const Record& record, const Problem& problem,
                                              const std::vector<Tensor>& outputs) {
    stored->Keep(record, problem, outputs);
  };
  return stored;
}

}  // namespace assay::cli
