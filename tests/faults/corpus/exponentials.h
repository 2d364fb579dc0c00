// SPDX-License-Identifier: Apache-2.0
// Wrong exponentials of a shifted score, for softmax and attention alike.
#pragma once

#include <cmath>

#include "tests/faults/corpus/arithmetic.h"

namespace corpus {

template <class T>
T ExponentialToBF16(T x, T max) {
  return RoundedTo<plugin::BF16>(std::exp(x - max));
}

// What f32 cannot hold is lost.
template <class T>
T ExponentialInF32Range(T x, T max) {
  return RoundedTo<float>(std::exp(x - max));
}

// A kernel written for exp2 that forgot log2 e.
template <class T>
T ExponentialOfTwo(T x, T max) {
  return std::exp2(x - max);
}

}  // namespace corpus
