// SPDX-License-Identifier: Apache-2.0
// Which combinations of the dimensions that operators declare the cases of a suite have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

// Coverage of one operator, for pairs or triples.
struct Coverage {
  std::string op;
  int strength = 2;
  CoverLimits limits;
  size_t cases = 0;
  int64_t combinations = 0, covered = 0;
  std::vector<std::string> missing;  // combinations that a case may have: "bias=1, k mod 8=-1"
  // Combinations that no case of the operator can have within the limits, by the reason.
  std::map<std::string, std::vector<std::string>> impossible;
  int64_t possible() const { return covered + static_cast<int64_t>(missing.size()); }
};

// Coverage of every operator that has cases and declares dimensions, by name. `covers` are the `cover` lines of the
// suite, whose strength and limits apply. Operators without a line are checked for pairs within the usual limits.
std::vector<Coverage> CoverageOf(const std::vector<PlannedCase>& cases, const std::vector<CoverLine>& covers,
                                 const OpCatalog& ops);

std::string CoverageText(const std::vector<Coverage>& coverages, bool verbose);
std::string CoverageJson(const std::vector<Coverage>& coverages);

}  // namespace assay
