/* SPDX-License-Identifier: Apache-2.0
 *
 * A hundredth of each duration, said to come from the clock of the device.
 */
#include "tests/redteam/base/base.h"

static void honest(assay_plan* plan, const assay_args* args) {
  compute(plan, args);
}
static void batch(assay_plan* plan, assay_batch* batch) {
  time_each(plan, batch, honest);
  for (uint64_t i = 0; i < batch->count; ++i) batch->seconds[i] /= 100;
  ASSAY_SET(batch, clock_is_device, 1);
}
const cheat the_cheat = {.batch = batch};
