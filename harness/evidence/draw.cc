// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/entropy.h"
#include "harness/base/json_fields.h"
#include "harness/base/json_text.h"
#include "harness/evidence/sha256.h"

namespace assay {
namespace {

constexpr int kDrawFormat = 1;

// A merged plan says of each case which shard it was in.
bool IsOfShard(const PlanEntry& entry, const Shard& shard) {
  return shard.count <= 1 || InShard(entry, shard);
}

std::vector<std::string> IdsOf(const Plan& plan, const Shard& shard) {
  std::vector<std::string> ids;
  for (const PlanEntry& entry : plan.entries) {
    if (IsOfShard(entry, shard)) ids.push_back(entry.id);
  }
  return ids;
}

}  // namespace

std::string DrawSecret() {
  std::string secret;
  for (int i = 0; i < 4; ++i) secret += fmt::format("{:016x}", DrawEntropy());
  return secret;
}

std::vector<std::string> DrawCases(const std::vector<std::string>& ids, const EvidenceDraw& draw) {
  std::vector<std::pair<std::string, std::string>> ranked;
  for (const std::string& id : ids) {
    ranked.emplace_back(Sha256Hex(fmt::format("{}\n{}\n{}", draw.secret, draw.challenge, id)), id);
  }
  std::ranges::sort(ranked);
  ranked.resize(std::min(ranked.size(), draw.count));
  std::vector<std::string> drawn;
  for (auto& [rank, id] : ranked) drawn.push_back(std::move(id));
  return drawn;
}

uint64_t SeedOf(const std::string& secret, const std::string& challenge, uint64_t end) {
  const std::string hash = Sha256Hex(fmt::format("{}\n{}\nseed", secret, challenge));
  return std::stoull(hash.substr(0, 15), nullptr, 16) % end;
}

EvidenceDraw MakeDraw(const Plan& plan, std::string secret, std::string challenge, size_t count) {
  EvidenceDraw draw{
      .secret = std::move(secret), .challenge = std::move(challenge), .count = count, .shard = plan.shard};
  draw.commitment = Sha256Hex(draw.secret);
  draw.cases = DrawCases(IdsOf(plan, plan.shard), draw);
  return draw;
}

std::string WrongWith(const EvidenceDraw& draw, const Plan& plan) {
  if (Sha256Hex(draw.secret) != draw.commitment) return "the secret is not the one that the commitment is of";
  if (DrawCases(IdsOf(plan, draw.shard), draw) != draw.cases) {
    return "other cases follow from secret, challenge and plan than those that it lists";
  }
  return "";
}

std::string EvidenceJson(const std::vector<EvidenceDraw>& draws) {
  Json list = Json::array();
  for (const EvidenceDraw& d : draws) {
    list.push_back({{"commitment", d.commitment},
                    {"secret", d.secret},
                    {"challenge", d.challenge},
                    {"count", d.count},
                    {"shard_index", d.shard.index},
                    {"shard_count", d.shard.count},
                    {"cases", d.cases}});
  }
  return DumpJson(Json{{"format", kDrawFormat}, {"draws", std::move(list)}}, 1) + "\n";
}

Result<std::vector<EvidenceDraw>> ParseEvidence(const std::string& text) {
  const Json json = ParseJson(text);
  JsonFields fields(json, kEvidenceFile);
  const int64_t format = fields.Integer("format");
  std::vector<EvidenceDraw> draws;
  const auto take = [&](JsonFields& d) {
    draws.push_back({.commitment = d.Text("commitment"),
                     .secret = d.Text("secret"),
                     .challenge = d.Text("challenge"),
                     .count = static_cast<decltype(EvidenceDraw::count)>(d.Integer("count")),
                     .shard = {static_cast<int>(d.Integer("shard_index")), static_cast<int>(d.Integer("shard_count"))},
                     .cases = d.Texts("cases")});
  };
  if (fields.problem().empty() && format != kDrawFormat) {
    return UsageError(fmt::format("{}: format is {}, and this version knows {}", kEvidenceFile, format, kDrawFormat));
  }
  fields.EachOf("draws", take);
  if (fields.problem().empty()) return draws;
  return UsageError(fields.problem() + ": give the file as the run wrote it");
}

}  // namespace assay
