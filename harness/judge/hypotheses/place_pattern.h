// SPDX-License-Identifier: Apache-2.0
// Whether errors keep to places, as those of a wrong edge, tile or lane do. A weaker arithmetic makes them wherever its
// sums are.
#pragma once

#include "harness/judge/judge.h"

namespace assay {

// Among results whose errors exceed what `declared` makes of its roundings, looks for a coordinate, lane, side or tile
// with at least four times as many, or as few, as the others have, in proportion to what the deviations of `by_class`
// lead one to expect, and more than chance brings (2 times in 10^8). A lane is every 2nd to 64th coordinate of an axis,
// a side all before or behind one, a tile 16 or 64 wide in the last two axes. Both judges have golden values of equal
// operands.
bool HasConfinedErrors(const ElementJudge& declared, const ElementJudge& by_class, const Tensor& got);

}  // namespace assay
