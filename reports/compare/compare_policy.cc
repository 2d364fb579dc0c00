// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_policy.h"

#include <algorithm>
#include <array>

#include "harness/core/base/check.h"
#include "harness/core/base/glob.h"

namespace assay {
namespace {

// Exactly one of the three is set.
struct PolicyKey {
  std::string_view name;
  bool RegressionLimits::*flag;
  Number RegressionLimits::*limit;
  double RegressionLimits::*number;
};

using Limits = RegressionLimits;
constexpr std::array<PolicyKey, 11> kPolicyKeys = {{
    {"verdict_worse", &Limits::verdict_worse, nullptr, nullptr},
    {"support_lost", &Limits::support_lost, nullptr, nullptr},
    {"lost_results", &Limits::lost_results, nullptr, nullptr},
    {"new_failure", &Limits::new_failure, nullptr, nullptr},
    {"class_worse", &Limits::class_worse, nullptr, nullptr},
    {"bits_changed", &Limits::bits_changed, nullptr, nullptr},
    {"bits_reordered", &Limits::bits_reordered, nullptr, nullptr},
    {"margin_growth", nullptr, &Limits::margin_growth, nullptr},
    {"margin_floor", nullptr, nullptr, &Limits::margin_floor},
    {"effective_bits_lost", nullptr, &Limits::effective_bits_lost, nullptr},
    {"slower_percent", nullptr, &Limits::slower_percent, nullptr},
}};

const PolicyKey* FindPolicyKey(std::string_view name) {
  const auto it = std::find_if(kPolicyKeys.begin(), kPolicyKeys.end(), [&](const auto& k) { return k.name == name; });
  return it == kPolicyKeys.end() ? nullptr : &*it;
}

void Apply(const ComparePolicy::Setting& setting, Limits& limits) {
  const PolicyKey* key = FindPolicyKey(setting.key);
  ASSAY_CHECK(key != nullptr);
  if (key->flag != nullptr) limits.*key->flag = setting.value.value_or(0) != 0;
  if (key->limit != nullptr) limits.*key->limit = setting.value;
  if (key->number != nullptr) limits.*key->number = setting.value.value_or(0);
}

bool Fits(const ComparePolicy::Rule& rule, std::string_view op, std::string_view backend,
          std::string_view implementation, std::string_view case_id) {
  return MatchesGlob(rule.op, op) && MatchesGlob(rule.backend, backend) &&
         MatchesGlob(rule.implementation, implementation) && MatchesGlob(rule.case_id, case_id);
}

}  // namespace

RegressionLimits ComparePolicy::For(std::string_view op, std::string_view backend, std::string_view implementation,
                                    std::string_view case_id) const {
  Limits limits;
  for (const Setting& setting : defaults_) Apply(setting, limits);
  for (const Rule& rule : rules_) {
    if (!Fits(rule, op, backend, implementation, case_id)) continue;
    for (const Setting& setting : rule.settings) Apply(setting, limits);
  }
  return limits;
}

bool ComparePolicy::LimitsSpeed() const {
  const auto limits = [](const Setting& setting) { return setting.key == "slower_percent" && setting.value; };
  return std::ranges::any_of(defaults_, limits) ||
         std::ranges::any_of(rules_, [&](const Rule& rule) { return std::ranges::any_of(rule.settings, limits); });
}

std::vector<std::string> ComparePolicy::FindUnusedRules(std::span<const std::vector<Record>> runs) const {
  std::vector<std::string> unused;
  for (const Rule& rule : rules_) {
    const auto fits = [&](const Record& r) { return Fits(rule, r.op, r.backend, r.implementation, r.case_id); };
    const auto used = [&](const std::vector<Record>& run) { return std::ranges::any_of(run, fits); };
    if (std::ranges::none_of(runs, used)) unused.push_back(rule.where);
  }
  return unused;
}

void ComparePolicy::SetDefault(std::string key, Number value) {
  defaults_.push_back({std::move(key), value});
}

std::optional<bool> PolicyKeyIsNumber(std::string_view key) {
  const PolicyKey* found = FindPolicyKey(key);
  if (found == nullptr) return std::nullopt;
  return found->flag == nullptr;
}

std::string PolicyKeys() {
  std::string text;
  for (const PolicyKey& key : kPolicyKeys) text += (text.empty() ? "" : ", ") + std::string(key.name);
  return text;
}

}  // namespace assay
