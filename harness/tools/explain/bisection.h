// SPDX-License-Identifier: Apache-2.0
// Searches a list of settings for the one with which a case begins to fail, or to give other bits.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// Result of one implementation.
struct SettingResult {
  std::string implementation, verdict;  // the first: with its backend, "cpu:naive"
  std::string bits;                     // hash of its output
  std::string reason, reproduce;

  bool Fails() const;
  bool IsSameAs(const SettingResult& other) const;
};

// Result of a case under one setting.
struct SettingTrial {
  std::string setting;                 // "ONEDNN_MAX_CPU_ISA=AVX2"
  std::vector<SettingResult> results;  // in the order of the run
  std::string not_tried;               // why there are none; "": there are some
  std::string unsteady;                // how a second run differs from the first; "": in nothing

  bool Fails() const;
  std::string Bits() const;  // of all implementations
};

enum class SoughtChange { kFailure, kBits };

// A change between two settings, given by their places in the list.
struct FoundChange {
  size_t before = 0, after = 0;
  SoughtChange what = SoughtChange::kBits;
};

struct Bisection {
  std::vector<FoundChange> changes;  // in the order of the list
  std::string problem;               // why none is told; "": some are
};

// Returns the trial of a setting by its place, each of which is asked for at most once.
using TrySetting = std::function<const SettingTrial&(size_t)>;

// Looks at both ends and then halves the list: for the change of verdict if the ends differ in whether they fail, else
// for the change of bits. Settings that cannot be tried are passed over. Precondition: at least two settings.
Bisection HalveSettings(size_t settings, const TrySetting& try_setting);

// Tries all settings, and tells each change between neighbours.
Bisection CompareEachSetting(size_t settings, const TrySetting& try_setting);

}  // namespace assay
