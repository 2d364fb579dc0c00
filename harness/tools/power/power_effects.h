// SPDX-License-Identifier: Apache-2.0
// How the corpus is asked for what a fault does to an exact result.
#pragma once

#include "ops/operator.h"

namespace assay {

// The problem with results in double, as the exact forms of the faults are asked for. None lies in an input's place,
// where there may be too little room. The attribute result_dtype says what the first result is rounded to, by whose
// limits some operators cut off.
Problem ForEffects(const Problem& problem);

}  // namespace assay
