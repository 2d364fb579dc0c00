/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the first execution of each batch and counts the others as done.
 */
#include "tests/redteam/base/base.h"

static void nothing(assay_plan* plan, const assay_args* args) {
  (void)plan, (void)args;
}
static void batch(assay_plan* plan, assay_batch* batch) {
  time_each(plan, batch, nothing);
  const double begin = now_s();
  if (batch->count > 0) compute(plan, batch->args[0]);
  for (uint64_t i = 0; i < batch->count; ++i) batch->seconds[i] = (now_s() - begin) / (double)batch->count;
}
const cheat the_cheat = {.batch = batch};
