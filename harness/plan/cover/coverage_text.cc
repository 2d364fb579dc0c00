// SPDX-License-Identifier: Apache-2.0
// Coverage for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/plan/cover/coverage.h"

namespace assay {
namespace {

constexpr size_t kShown = 10;

std::string_view NameOf(int strength) {
  return strength == 2 ? "pairs" : "triples";
}

void PrintList(const std::vector<std::string>& texts, bool whole, std::string& out) {
  const size_t shown = whole ? texts.size() : std::min(texts.size(), kShown);
  for (size_t i = 0; i < shown; ++i) out += fmt::format("    {}\n", texts[i]);
  if (shown < texts.size()) out += fmt::format("    ... and {} more; --verbose shows them\n", texts.size() - shown);
}

}  // namespace

std::string CoverageText(const std::vector<Coverage>& coverages, bool verbose) {
  std::string out;
  for (const Coverage& c : coverages) {
    const double share =
        c.possible() == 0 ? 100 : 100.0 * static_cast<double>(c.covered) / static_cast<double>(c.possible());
    out += fmt::format(
        "{} {}: {} of {} possible ones in {} ({:.1f} %); {} are impossible within {} elements and {} flops\n", c.op,
        NameOf(c.strength), c.covered, c.possible(), Counted(c.cases, "case"), share, c.combinations - c.possible(),
        c.limits.elements, c.limits.flops);
    if (!c.missing.empty()) out += fmt::format("  not covered: {}\n", c.missing.size());
    PrintList(c.missing, verbose, out);
    for (const auto& [why, texts] : c.impossible) {
      out += fmt::format("  impossible: {}: {}\n", texts.size(), why);
      if (verbose) PrintList(texts, true, out);
    }
  }
  return out;
}

std::string CoverageJson(const std::vector<Coverage>& coverages) {
  Json all = Json::array();
  for (const Coverage& c : coverages) {
    all.push_back({{"op", c.op},
                   {"strength", c.strength},
                   {"max_elements", c.limits.elements},
                   {"max_flops", c.limits.flops},
                   {"cases", c.cases},
                   {"combinations", c.combinations},
                   {"possible", c.possible()},
                   {"covered", c.covered},
                   {"missing", c.missing},
                   {"impossible", c.impossible}});
  }
  return DumpJson(all, 1) + "\n";
}

}  // namespace assay
