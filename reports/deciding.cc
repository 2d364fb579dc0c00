// SPDX-License-Identifier: Apache-2.0
#include "reports/deciding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/summary.h"

namespace assay {
namespace {

using Checks = std::array<DecidingCheck, 5>;

// In the order of the judge: what fails first is what its reason speaks of.
Checks ChecksOf(const Record& r) {
  return {{{"exact", r.exact_margin},
           {"exceptional", r.exceptional_margin},
           {"bound", r.bound_margin},
           {"statistic", r.stat_margin},
           {"metamorphic", r.metamorphic_margin}}};
}

bool Fails(const DecidingCheck& check) {
  return check.margin && !(*check.margin <= 1);
}

// The bound speaks for a result that is nowhere off.
DecidingCheck NearestToItsLimit(const Record& r) {
  DecidingCheck nearest{r.bound_margin ? "bound" : "", r.bound_margin};
  for (const DecidingCheck& check : ChecksOf(r)) {
    if (check.margin && !(*check.margin <= nearest.margin.value_or(-1))) nearest = check;
  }
  return nearest;
}

}  // namespace

DecidingCheck DecidingCheckOf(const Record& r) {
  if (r.verdict == "nondeterministic") return {"determinism", std::nullopt};
  if (r.verdict == "inconclusive") return {"mutation power", std::nullopt};
  if (r.verdict == "pass") return NearestToItsLimit(r);
  if (r.verdict != "mismatch" && r.verdict != "below_contract") return {};
  if (!r.decided_by.empty()) return {r.decided_by, std::nullopt};
  const Checks checks = ChecksOf(r);
  const auto failed = std::ranges::find_if(checks, Fails);
  if (failed != checks.end() && (r.verdict == "mismatch" || !r.lower_class.empty())) return *failed;
  // Without a failing margin: less is declared than required, or only another execution of the case was wrong.
  return {r.verdict == "below_contract" ? "contract" : "later run", std::nullopt};
}

std::string DecidingText(const DecidingCheck& check) {
  if (!check.margin) return std::string(check.name);
  if (*check.margin == 0) return fmt::format("{} 0", check.name);
  if (!std::isfinite(*check.margin)) return std::string(check.name);
  return fmt::format("{} {}", check.name,
                     *check.margin > 1 ? fmt::format("{:.3g}", *check.margin) : MarginText(*check.margin));
}

}  // namespace assay
