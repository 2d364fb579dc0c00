// SPDX-License-Identifier: Apache-2.0
// Which combinations of the dimensions that operators declare the cases of a suite have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

// Of one operator, pairs or threes.
struct Coverage {
  std::string op;
  int strength = 2;
  CoverLimits limits;
  size_t cases = 0;
  int64_t combinations = 0, covered = 0;
  std::vector<std::string> missing;  // that a case could have, as far as is known: "bias=1, k mod 8=-1"
  // Why no case of the operator has a combination, within the limits, and which ones.
  std::map<std::string, std::vector<std::string>> impossible;
  int64_t possible() const { return covered + static_cast<int64_t>(missing.size()); }
};

// Of every operator that the cases have and that declares dimensions, by name; `covers`: the `cover` lines of the
// suite, whose strength and limits hold. Operators without such a line are held against pairs within the usual limits.
std::vector<Coverage> CoverageOf(const std::vector<PlannedCase>& cases, const std::vector<CoverLine>& covers,
                                 const OpCatalog& ops);

std::string CoverageText(const std::vector<Coverage>& coverages, bool verbose);
std::string CoverageJson(const std::vector<Coverage>& coverages);

}  // namespace assay
