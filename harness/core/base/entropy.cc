// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/entropy.h"

#include <unistd.h>

#include <array>

#include "harness/core/base/check.h"

namespace assay {

// Some at a time, since asking for them costs as much as a short request to a worker.
uint64_t DrawEntropy() {
  thread_local std::array<uint64_t, 32> numbers;
  thread_local size_t used = numbers.size();
  if (used == numbers.size()) {
    ASSAY_CHECK(::getentropy(numbers.data(), sizeof numbers) == 0);
    used = 0;
  }
  return numbers[used++];
}

}  // namespace assay
