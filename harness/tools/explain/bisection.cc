// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/bisection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace assay {
namespace {

std::string DescribeUnsteady(const SettingTrial& trial) {
  return fmt::format("{} does not give the same twice, so no setting can be told from another: {}", trial.setting,
                     trial.unsteady);
}

// Asks for each setting once.
class TriedSettings {
 public:
  explicit TriedSettings(const TrySetting& try_setting) : try_setting_(try_setting) {}

  const SettingTrial& At(size_t place) {
    const auto it = tried_.find(place);
    return it != tried_.end() ? *it->second : *tried_.emplace(place, &try_setting_(place)).first->second;
  }
  bool IsUsable(size_t place) { return At(place).not_tried.empty(); }

  // The usable place next to the middle of both, which are no candidates.
  std::optional<size_t> FindMiddle(size_t low, size_t high) {
    const size_t middle = low + (high - low) / 2;
    for (size_t distance = 0; distance < high - low; ++distance) {
      for (const size_t place : {middle + distance, middle - std::min(middle, distance)}) {
        if (place > low && place < high && IsUsable(place)) return place;
      }
    }
    return std::nullopt;
  }

 private:
  const TrySetting& try_setting_;
  std::map<size_t, const SettingTrial*> tried_;
};

std::optional<SoughtChange> FindDifference(const SettingTrial& a, const SettingTrial& b) {
  if (a.Fails() != b.Fails()) return SoughtChange::kFailure;
  if (a.Bits() != b.Bits()) return SoughtChange::kBits;
  return std::nullopt;
}

std::string DescribeAgreement(const SettingTrial& first, const SettingTrial& last) {
  return fmt::format("{} and {} agree: {}, with equal output bits; give settings of which the ends differ, or --each",
                     first.setting, last.setting, first.Fails() ? "both fail" : "neither fails");
}

constexpr const char* kTooFew = "fewer than two settings could be tried; the reasons stand above";

}  // namespace

bool SettingResult::Fails() const {
  return verdict != "pass" && verdict != "inconclusive";
}

bool SettingResult::IsSameAs(const SettingResult& other) const {
  return implementation == other.implementation && verdict == other.verdict && bits == other.bits;
}

bool SettingTrial::Fails() const {
  return std::ranges::any_of(results, &SettingResult::Fails);
}

std::string SettingTrial::Bits() const {
  std::string all;
  for (const SettingResult& r : results) all += r.implementation + "=" + r.bits + ";";
  return all;
}

Bisection HalveSettings(size_t settings, const TrySetting& try_setting) {
  TriedSettings tried(try_setting);
  size_t low = 0, high = settings - 1;
  while (low < high && !tried.IsUsable(low)) ++low;
  while (low < high && !tried.IsUsable(high)) --high;
  if (low >= high) return {{}, kTooFew};
  const SettingTrial &first = tried.At(low), &last = tried.At(high);
  for (const SettingTrial* end : {&first, &last}) {
    if (!end->unsteady.empty()) return {{}, DescribeUnsteady(*end)};
  }
  const std::optional<SoughtChange> what = FindDifference(first, last);
  if (!what) return {{}, DescribeAgreement(first, last)};
  while (const std::optional<size_t> middle = tried.FindMiddle(low, high)) {
    const SettingTrial& trial = tried.At(*middle);
    if (!trial.unsteady.empty()) return {{}, DescribeUnsteady(trial)};
    const bool like_first =
        *what == SoughtChange::kFailure ? trial.Fails() == first.Fails() : trial.Bits() == first.Bits();
    (like_first ? low : high) = *middle;
  }
  return {{{low, high, *what}}, ""};
}

Bisection CompareEachSetting(size_t settings, const TrySetting& try_setting) {
  Bisection found;
  std::optional<size_t> before;
  const SettingTrial* last = nullptr;
  for (size_t place = 0; place < settings; ++place) {
    const SettingTrial& trial = try_setting(place);
    if (!trial.not_tried.empty()) continue;
    if (!trial.unsteady.empty()) return {{}, DescribeUnsteady(trial)};
    if (last != nullptr) {
      if (const auto what = FindDifference(*last, trial)) found.changes.push_back({*before, place, *what});
    }
    before = place, last = &trial;
  }
  if (!before || last == nullptr) return {{}, kTooFew};
  if (found.changes.empty()) found.problem = "all settings that could be tried agree in verdict and output bits";
  return found;
}

}  // namespace assay
