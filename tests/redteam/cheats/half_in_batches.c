/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole sum for an execution that comes alone, half of the terms for those of a batch.
 */
#include "tests/redteam/cheats/lazy.h"

static void whole(assay_plan* plan, const assay_args* args) {
  compute(plan, args);
}
static void half(assay_plan* plan, const assay_args* args) {
  compute_half(plan, args);
}
static void batch(assay_plan* plan, assay_batch* batch) {
  time_each(plan, batch, batch->count > 1 ? half : whole);
}
const cheat the_cheat = {.batch = batch};
