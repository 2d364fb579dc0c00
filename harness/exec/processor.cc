// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/processor.h"

#include <sched.h>

namespace assay {

int64_t CurrentProcessor() {
  return ::sched_getcpu();
}

void MoveToProcessor(int64_t processor) {
  cpu_set_t allowed, one;
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  const auto number = static_cast<size_t>(processor);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0 || !CPU_ISSET(number, &allowed)) return;
  CPU_ZERO(&one);
  CPU_SET(number, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0) ::sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace assay
