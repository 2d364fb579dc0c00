// SPDX-License-Identifier: Apache-2.0
// How far results may be from the values of a formula, as planes hold it.
#pragma once

namespace assay {

// The reach of an element of value y; `wide`: in a plane of doubles. Of values that are far beyond f32 it is enough
// that it keeps them there.
double HeldReach(double reach, double y, bool wide);

}  // namespace assay
