// SPDX-License-Identifier: Apache-2.0
// Policy that decides which changes between two runs are regressions. A policy file is TOML: keys at the top hold
// everywhere, those of a [[rule]] where its globs match; of several rules that set a key the last one decides.
//   bits_changed = false
//   slower_percent = 5
//   [[rule]]
//   op = "matmul"                # also backend, implementation, case
//   backend = "onednn"
//   effective_bits_lost = 1
//   slower_percent = false       # reported only
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record.h"

namespace assay {

// Regression limits for one result. A number that is null is reported only.
struct RegressionLimits {
  bool verdict_worse = true;   // the outcome got worse, unless an expectation covers it
  bool support_lost = true;    // unsupported, unavailable or not offered any more
  bool lost_results = true;    // no record in the new run: exit code 3
  bool new_failure = false;    // a result that the base does not have, and that fails
  bool class_worse = false;    // bit_exact > within_class > within_lower_class > suspect
  bool bits_changed = false;   // other output bits for the same input bits
  bool bits_reordered = true;  // also where passports say: same arithmetic, other order
  Number margin_growth;        // a margin grew by this factor or more...
  double margin_floor = 1e-3;  // ...and is now at least this
  Number effective_bits_lost;  // at least so many
  Number slower_percent;       // SLOWER, by at least this
};

class ComparePolicy {
 public:
  // One key of the file with its value: 0 and 1 for a bool, null for `false` of a number.
  struct Setting {
    std::string key;
    Number value;
  };
  struct Rule {
    std::string op = "*", backend = "*", implementation = "*", case_id = "*";
    std::vector<Setting> settings;
    std::string where;  // file:line
  };

  RegressionLimits For(std::string_view op, std::string_view backend, std::string_view implementation,
                       std::string_view case_id) const;

  bool LimitsSpeed() const;  // somewhere

  // "file:line" of rules that fit none of the records.
  std::vector<std::string> FindUnusedRules(std::span<const std::vector<Record>> runs) const;

  // Before the rules, after the keys at the top: what the command line says yields to a rule.
  void SetDefault(std::string key, Number value);
  void Add(Rule rule) { rules_.push_back(std::move(rule)); }

 private:
  std::vector<Setting> defaults_;
  std::vector<Rule> rules_;
};

// Whether the name is a key of RegressionLimits, and if so whether its value is a number.
std::optional<bool> PolicyKeyIsNumber(std::string_view key);
std::string PolicyKeys();  // "verdict_worse, support_lost, ..."

// Errors are "file:line:column: what; what to write instead".
Result<ComparePolicy> ParsePolicy(std::string_view toml, const std::string& file);
Result<ComparePolicy> LoadPolicy(const std::string& path);

}  // namespace assay
