// SPDX-License-Identifier: Apache-2.0
// Extents at which a backend changes its plans. An extent is tried at the steps of a ladder (1 and each power of two,
// with one less and one more, and the largest one), and then between each two neighbours that differ until they lie
// side by side.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay {

struct PlanKey {
  std::string backend, device, implementation;
  auto operator<=>(const PlanKey&) const = default;
};

// Plan and result of an implementation at one extent.
struct PlanSignature {
  std::string kernel;  // algorithm and kernels, in the words of the backend
  std::string contract, verdict;
  std::string bits;    // hash of results that no such extent should change; "": not known
  double seconds = 0;  // of the fastest execution; 0: nobody measured
  double work = 1;     // operations, to which they are held
};

// Implementations that are not in it were not offered.
using PlansAt = std::map<PlanKey, PlanSignature>;

enum class PlanChange : uint8_t { kOffer, kKernel, kContract, kVerdict, kBits, kTime };
const char* Name(PlanChange change);

// nullptr: not offered. A pass and an inconclusive result are no change of verdict, and bits change where both are
// known. A time changes where it grows by half more than the work does, or falls by a third though the work does not.
std::vector<PlanChange> ListPlanChanges(const PlanSignature* was, const PlanSignature* is);

struct Threshold {
  PlanKey key;
  int64_t before = 0, after = 0;  // no case lies between them, unless `is_open`
  std::optional<PlanSignature> was, is;
  std::vector<PlanChange> changes;
  bool is_open = false;  // the search ended before the two lay side by side
};

class ThresholdLadder {
 public:
  // `is_case`: whether there is a case of this extent. `ends_at`: whether it and all larger ones are too large.
  using Ask = std::function<bool(int64_t)>;
  ThresholdLadder(Ask is_case, Ask ends_at) : is_case_(std::move(is_case)), ends_at_(std::move(ends_at)) {}

  // The next extent to try; nullopt: there is none as long as nothing more is known of those that were given.
  std::optional<int64_t> Next();
  void SetPlans(int64_t extent, PlansAt plans);
  // Precondition: the plan is known. Faster executions may show that a time did not change.
  void AddSeconds(int64_t extent, const PlanKey& key, double seconds);

  // Whether each two neighbours that differ lie side by side, up to the largest extent.
  bool IsComplete() const { return is_complete_; }
  // False once some extents were tried and no backend took any.
  bool IsTaken() const;
  bool IsWaiting() const { return !open_.empty(); }  // for an extent that Next gave
  std::vector<Threshold> FindThresholds() const;
  const std::map<int64_t, PlansAt>& known() const { return known_; }

  static constexpr int kMostTried = 300;

 private:
  std::optional<int64_t> NextStep();
  int64_t FindLargest(int64_t low, int64_t too_large) const;
  std::optional<int64_t> NextBetween();
  std::optional<int64_t> FindMiddle(int64_t low, int64_t high) const;

  Ask is_case_, ends_at_;
  std::map<int64_t, PlansAt> known_;
  std::set<int64_t> open_;                          // given, and not known
  std::set<std::pair<int64_t, int64_t>> adjacent_;  // between which there is no case
  int64_t power_ = 1;                               // of the ladder's next steps
  int offset_ = 0;
  int tried_ = 0;
  bool ends_ = false, is_complete_ = false;
};

}  // namespace assay
