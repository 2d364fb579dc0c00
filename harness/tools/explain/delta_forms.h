// SPDX-License-Identifier: Apache-2.0
// Mistakes of a kernel of the gated delta rule that goes from position to position. The operator's own formula has the
// closed form, of which no place is the same mistake at all positions.
#pragma once

#include <cstdint>

#include "ops/formula/definition.h"

namespace assay {

enum class DeltaMistake : uint8_t {
  kGateBehindUpdate,       // gate (s + beta (v - s k) k^T)
  kPredictsBeforeGate,     // gate s + beta (v - s k) k^T
  kGateOfPredictionAlone,  // s + beta (v - gate s k) k^T
  kGateTwice,
  kNoPrediction,  // beta v k^T is added
  kAddsPrediction,
  kBetaOfValueAlone,
  kBetaOfPredictionAlone,
  kBetaTwice,
  kPredictsByKeyBefore,
  kWritesKeyBefore,
  kReadsBeforeUpdate,
  kStateOfEachIsGiven,  // no position sees what the one before it wrote
  kStoresStateBefore,   // new_state lacks the last position
};

struct DeltaAttrs {
  bool normalises = true;
  double scale = 1, eps = 1e-6;
};

formula::Definition::Author WriteDeltaRule(const DeltaAttrs& attrs, DeltaMistake mistake);

}  // namespace assay
