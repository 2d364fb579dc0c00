// SPDX-License-Identifier: Apache-2.0
// One case at many sizes: "b=1..256" is b=1,2,4,...,256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

struct Sweep {
  std::string key;  // an attribute of the case
  int entry = -1;   // of its list ("shape.0", "i.1"); -1: the whole value
  std::vector<std::string> values;
  std::string Label() const;  // "b", "shape.0"
};

// KEY=VALUES; VALUES are numbers or texts, and ranges: "1..256" doubles, "1..256*4" quadruples, "64..512+64" adds. The
// end of a range is always in it. Errors say what is possible.
Result<Sweep> ParseSweep(std::string_view text);

// The ids of the swept cases, in the order of the values. Errors name the case and the value; two values of one case
// are one.
Result<std::vector<std::string>> MakeSweptCases(const std::string& case_id, const Sweep& sweep, const OpCatalog& ops);

// "b=16" of a case of this sweep; "" of one that has no such attribute.
std::string SweepPoint(const CaseSpec& spec, const Sweep& sweep, const OpSchema& schema);

}  // namespace assay
