// SPDX-License-Identifier: Apache-2.0
// Whether errors keep to places, as those of a wrong edge, tile or lane do. A weaker arithmetic makes them wherever its
// sums are.
#pragma once

#include "harness/judge/judge.h"

namespace assay {

// Of the results whose errors exceed what `declared` makes of its roundings: whether some coordinate of an axis, every
// 2nd to 64th one from the same on, all before or behind one, or a tile of 16 or 64 in the last two axes has at least
// four times as many, or as few, as the others, in proportion to what the deviations of `by_class` lead one to expect,
// and more than chance brings (2 times in 10^8). Both judges have golden values of the same operands.
bool KeepsToPlaces(const ElementJudge& declared, const ElementJudge& by_class, const Tensor& got);

}  // namespace assay
