// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "harness/core/base/entropy.h"
#include "harness/core/base/json_fields.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/results/missing.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/sha256.h"

namespace assay {
namespace {

// Format 1 drew cases before the run, format 2 had its terms in evidence.json alone, and format 3 left the shard out of
// them.
constexpr int kDrawFormat = 4;

constexpr const char* kCommittedFiles[] = {kConformanceFile, kControlFile, "environment.json",
                                           kOffersFile,      "plan.json",  "results.jsonl"};

}  // namespace

size_t Sample::Count() const {
  return std::accumulate(draws.begin(), draws.end(), size_t{0},
                         [](size_t sum, const EvidenceDraw& draw) { return sum + draw.count; });
}

Json TermsOf(const EvidenceDraw& draw) {
  return {{"commitment", draw.commitment},
          {"challenge", draw.challenge},
          {"count", draw.count},
          {"shard_index", draw.shard.index},
          {"shard_count", draw.shard.count}};
}

std::string DrawSecret() {
  std::string secret;
  for (int i = 0; i < 4; ++i) secret += fmt::format("{:016x}", DrawEntropy());
  return secret;
}

EvidenceDraw MakeDraw(std::string secret, std::string challenge, size_t count, const Shard& shard) {
  EvidenceDraw draw{.secret = std::move(secret), .challenge = std::move(challenge), .count = count, .shard = shard};
  draw.commitment = Sha256Hex(draw.secret);
  return draw;
}

uint64_t SeedOf(const std::string& secret, const std::string& challenge, uint64_t end) {
  const std::string hash = Sha256Hex(fmt::format("{}\n{}\nseed", secret, challenge));
  return std::stoull(hash.substr(0, 15), nullptr, 16) % end;
}

std::string CommittedHash(const std::map<std::string, std::string>& files) {
  std::string lines;
  for (const char* name : kCommittedFiles) {
    const auto file = files.find(name);
    if (file != files.end()) lines += fmt::format("{}  {}\n", Sha256Hex(file->second), name);
  }
  return Sha256Hex(lines);
}

std::vector<std::string> DrawTexts(const std::vector<std::string>& texts, const Sample& sample) {
  std::string drawn_by;
  for (const EvidenceDraw& draw : sample.draws) drawn_by += fmt::format("{}\n{}\n", draw.secret, draw.challenge);
  drawn_by += fmt::format("{}\n{}\n", sample.challenge, sample.committed);
  std::vector<std::pair<std::string, std::string>> ranked;
  for (const std::string& text : texts) ranked.emplace_back(Sha256Hex(drawn_by + text), text);
  std::ranges::sort(ranked);
  ranked.erase(std::ranges::unique(ranked).begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), sample.Count()));
  std::vector<std::string> drawn;
  for (auto& [rank, text] : ranked) drawn.push_back(std::move(text));
  return drawn;
}

std::string EvidenceJson(const Sample& sample) {
  Json list = Json::array();
  for (const EvidenceDraw& d : sample.draws) {
    list.push_back({{"commitment", d.commitment},
                    {"secret", d.secret},
                    {"challenge", d.challenge},
                    {"count", d.count},
                    {"shard_index", d.shard.index},
                    {"shard_count", d.shard.count}});
  }
  const Json json = {{"format", kDrawFormat},
                     {"draws", std::move(list)},
                     {"committed", sample.committed},
                     {"challenge", sample.challenge},
                     {"results", sample.results}};
  return DumpJson(json, 1) + "\n";
}

Result<Sample> ParseEvidence(const std::string& text) {
  const Json json = ParseJson(text);
  JsonFields fields(json, kEvidenceFile);
  const int64_t format = fields.Integer("format");
  if (fields.problem().empty() && format != kDrawFormat) {
    return UsageError(
        fmt::format("{} has format {}, this program reads {}: use the version of assay that wrote it, or run again",
                    kEvidenceFile, format, kDrawFormat));
  }
  Sample sample{
      .committed = fields.Text("committed"), .challenge = fields.Text("challenge"), .results = fields.Texts("results")};
  fields.VisitList("draws", [&](JsonFields& d) {
    sample.draws.push_back(
        {.commitment = d.Text("commitment"),
         .secret = d.Text("secret"),
         .challenge = d.Text("challenge"),
         .count = static_cast<decltype(EvidenceDraw::count)>(d.Integer("count")),
         .shard = {static_cast<int>(d.Integer("shard_index")), static_cast<int>(d.Integer("shard_count"))}});
  });
  if (fields.problem().empty()) return sample;
  return UsageError(fields.problem() + ": give the file as the run wrote it");
}

}  // namespace assay
