// SPDX-License-Identifier: Apache-2.0
// How often the cases of a run are judged.
#pragma once

#include <cstdint>

namespace assay {

struct Repetition {
  int64_t passes = 1;  // over all cases, with the first one, which always comes to its end
  double seconds = 0;  // of the run, after which no case of a further pass begins; 0: no such end
};

}  // namespace assay
