// SPDX-License-Identifier: Apache-2.0
// How far correct results stray: per element, the largest error of any legal schedule on any seed
// (harness/tools/power/README.md). A fault whose effect stays within twice that cannot be told from a correct result by
// anyone who sees the result alone.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "golden/golden.h"
#include "harness/core/model/contract.h"

namespace assay {

// How far a fault moves a result, in units of the largest legal errors: 0 where it does not, infinite where the faulty
// value alone is not finite.
struct FaultEffect {
  double of_element = 0;  // the element that it moves by most of its own envelope
  double of_tensor = 0;   // the element that it moves by most, over the largest envelope of the tensor
};

class Envelope {
 public:
  // A result of a correct schedule of that contract; `got` as the output type holds it, two values per complex element.
  // An infinity or NaN where the golden value is another makes the element's envelope infinite.
  void Add(const Contract& declared, const Golden& golden, std::span<const double> got);

  // `faulty` is the result in arithmetic so precise that its own rounding, `noise` relative to the golden's magnitude,
  // hides nothing: that and the golden's error are the least envelope. With `declared`, the envelope of the schedules
  // that meet that contract alone; without, of all.
  FaultEffect Effect(const Golden& golden, std::span<const double> faulty, double noise,
                     const Contract* declared) const;

 private:
  std::vector<double> Of(const Contract* declared, size_t size) const;

  std::map<std::string, std::pair<Contract, std::vector<double>>> by_contract_;
};

}  // namespace assay
