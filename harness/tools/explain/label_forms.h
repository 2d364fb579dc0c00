// SPDX-License-Identifier: Apache-2.0
// Mistakes of a kernel of cross_entropy in what smoothing spreads over classes.
#pragma once

#include <cstdint>
#include <string>

#include "ops/formula/definition.h"

namespace assay {

enum class LabelMistake : uint8_t {
  kIgnoredAreSpread,   // rows whose label is ignored count in the part that is spread
  kSpreadsOverOthers,  // the label's own class gets nothing of it, as of a division by n - 1
};

struct LabelAttrs {
  double smoothing = 0;
  int64_t ignore = -1;
  std::string reduction;
};

formula::Definition::Author WriteCrossEntropy(const LabelAttrs& attrs, LabelMistake mistake);

}  // namespace assay
