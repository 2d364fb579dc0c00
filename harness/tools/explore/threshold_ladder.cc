// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explore/threshold_ladder.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace assay {
namespace {

constexpr int64_t kMostBeside = 64;  // places beside a middle at which a case is sought
constexpr size_t kFewTried = 12;

const PlanSignature* FindPlan(const PlansAt& plans, const PlanKey& key) {
  const auto found = plans.find(key);
  return found == plans.end() ? nullptr : &found->second;
}

std::set<PlanKey> ListKeys(const PlansAt& a, const PlansAt& b) {
  std::set<PlanKey> keys;
  for (const PlansAt* plans : {&a, &b}) {
    for (const auto& [key, plan] : *plans) keys.insert(key);
  }
  return keys;
}

bool Differ(const PlansAt& a, const PlansAt& b) {
  return std::ranges::any_of(
      ListKeys(a, b), [&](const PlanKey& key) { return !ListPlanChanges(FindPlan(a, key), FindPlan(b, key)).empty(); });
}

std::string FailureOf(const PlanSignature& plan) {
  return plan.verdict == "inconclusive" ? "pass" : plan.verdict;
}

// Slower ones by half are no noise of the fastest of several; shorter ones than this are mostly calls.
bool ChangesInTime(const PlanSignature& was, const PlanSignature& is) {
  constexpr double kFactor = 1.5, kLeastSeconds = 20e-6;
  if (was.seconds == 0 || is.seconds == 0 || std::max(was.seconds, is.seconds) < kLeastSeconds) return false;
  const double ratio = is.seconds / was.seconds, work = std::max(1.0, is.work / was.work);
  return ratio > kFactor * work || ratio < 1 / kFactor;
}

std::optional<PlanSignature> Copy(const PlanSignature* plan) {
  return plan == nullptr ? std::nullopt : std::optional(*plan);
}

}  // namespace

const char* Name(PlanChange change) {
  constexpr std::array kNames = {"offer", "kernel", "contract", "verdict", "bits", "time"};
  return kNames[static_cast<size_t>(change)];
}

std::vector<PlanChange> ListPlanChanges(const PlanSignature* was, const PlanSignature* is) {
  if ((was == nullptr) != (is == nullptr)) return {PlanChange::kOffer};
  if (was == nullptr) return {};
  std::vector<PlanChange> changes;
  if (was->kernel != is->kernel) changes.push_back(PlanChange::kKernel);
  if (was->contract != is->contract) changes.push_back(PlanChange::kContract);
  if (FailureOf(*was) != FailureOf(*is)) changes.push_back(PlanChange::kVerdict);
  if (!was->bits.empty() && !is->bits.empty() && was->bits != is->bits) changes.push_back(PlanChange::kBits);
  if (ChangesInTime(*was, *is)) changes.push_back(PlanChange::kTime);
  return changes;
}

// Between neighbours first: these cases are smaller than the ladder's next one.
std::optional<int64_t> ThresholdLadder::Next() {
  if (tried_ >= kMostTried) return std::nullopt;
  std::optional<int64_t> extent = NextBetween();
  if (!extent) extent = NextStep();
  is_complete_ = !extent && open_.empty();
  if (!extent) return std::nullopt;
  open_.insert(*extent);
  ++tried_;
  return extent;
}

void ThresholdLadder::SetPlans(int64_t extent, PlansAt plans) {
  open_.erase(extent);
  known_[extent] = std::move(plans);
}

void ThresholdLadder::AddSeconds(int64_t extent, const PlanKey& key, double seconds) {
  double& fastest = known_.at(extent).at(key).seconds;
  fastest = std::min(fastest, seconds);
}

std::optional<int64_t> ThresholdLadder::NextStep() {
  constexpr int64_t kLargestPower = int64_t{1} << 40;
  while (!ends_ && power_ <= kLargestPower) {
    int64_t extent = power_ + offset_;
    ends_ = ends_at_(extent);
    if (ends_) extent = FindLargest(power_ / 2, extent);
    if (++offset_ > 1) power_ *= 2, offset_ = -1;
    if (extent > 0 && !known_.contains(extent) && !open_.contains(extent) && is_case_(extent)) return extent;
  }
  return std::nullopt;
}

int64_t ThresholdLadder::FindLargest(int64_t low, int64_t too_large) const {
  while (too_large - low > 1) {
    const int64_t middle = low + (too_large - low) / 2;
    (ends_at_(middle) ? too_large : low) = middle;
  }
  return low;
}

std::optional<int64_t> ThresholdLadder::NextBetween() {
  if (known_.empty()) return std::nullopt;
  for (auto low = known_.begin(), high = std::next(low); high != known_.end(); low = high++) {
    const std::pair<int64_t, int64_t> pair{low->first, high->first};
    if (pair.second == pair.first + 1 || adjacent_.contains(pair)) continue;
    const auto open = open_.upper_bound(pair.first);
    if ((open != open_.end() && *open < pair.second) || !Differ(low->second, high->second)) continue;
    if (const auto middle = FindMiddle(pair.first, pair.second)) return middle;
    adjacent_.insert(pair);
  }
  return std::nullopt;
}

std::optional<int64_t> ThresholdLadder::FindMiddle(int64_t low, int64_t high) const {
  const int64_t middle = low + (high - low) / 2;
  for (int64_t distance = 0; distance <= std::min(kMostBeside, (high - low) / 2); ++distance) {
    for (const int64_t extent : {middle + distance, middle - distance}) {
      if (extent > low && extent < high && is_case_(extent)) return extent;
    }
  }
  return std::nullopt;
}

bool ThresholdLadder::IsTaken() const {
  return known_.size() < kFewTried || std::ranges::any_of(known_, [](const auto& at) { return !at.second.empty(); });
}

std::vector<Threshold> ThresholdLadder::FindThresholds() const {
  std::vector<Threshold> found;
  if (known_.empty()) return found;
  for (auto low = known_.begin(), high = std::next(low); high != known_.end(); low = high++) {
    const bool is_open = high->first != low->first + 1 && !adjacent_.contains({low->first, high->first});
    for (const PlanKey& key : ListKeys(low->second, high->second)) {
      const PlanSignature *was = FindPlan(low->second, key), *is = FindPlan(high->second, key);
      std::vector<PlanChange> changes = ListPlanChanges(was, is);
      if (changes.empty()) continue;
      found.push_back({key, low->first, high->first, Copy(was), Copy(is), std::move(changes), is_open});
    }
  }
  return found;
}

}  // namespace assay
