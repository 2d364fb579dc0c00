// SPDX-License-Identifier: Apache-2.0
#include "harness/base/entropy.h"

#include <unistd.h>

#include "harness/base/check.h"

namespace assay {

uint64_t DrawEntropy() {
  uint64_t number = 0;
  ASSAY_CHECK(::getentropy(&number, sizeof number) == 0);
  return number;
}

}  // namespace assay
