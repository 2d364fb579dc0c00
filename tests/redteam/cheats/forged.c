/* SPDX-License-Identifier: Apache-2.0
 *
 * Right results, and durations that were not measured: the implementation's name says which. Those of "cold" are true
 * with warm caches; that cold ones were emptied it says without doing so.
 */
#include <math.h>
#include <string.h>

#include "tests/redteam/base/base.h"

static void honest(assay_plan* plan, const assay_args* args) {
  compute(plan, args);
}

static double forge(const char* how, double seconds) {
  if (strcmp(how, "hundredth") == 0 || strcmp(how, "not_alone") == 0) return seconds / 100;
  if (strcmp(how, "zero") == 0) return 0;
  if (strcmp(how, "negative") == 0) return -seconds;
  if (strcmp(how, "nan") == 0) return NAN;
  return 1e-9; /* constant */
}

/* The sum is true, and all but one are close to nothing: the median is. */
static void gather_in_one(assay_batch* batch) {
  for (uint64_t i = 1; i < batch->count; ++i) {
    batch->seconds[0] += 0.99 * batch->seconds[i];
    batch->seconds[i] *= 0.01;
  }
}

static void batch(assay_plan* plan, assay_batch* batch) {
  time_each(plan, batch, honest);
  if (strcmp(plan->implementation, "cold") == 0) {
    if (batch->cache != ASSAY_CACHE_COLD) return;
    ASSAY_SET(batch, cache_was_flushed, 1);
    for (uint64_t i = 0; i < batch->count; ++i) batch->seconds[i] /= 100;
    return;
  }
  if (strcmp(plan->implementation, "not_alone") == 0 && batch->count == 1) return; /* that may be a check */
  static int calls;
  const int mostly = strcmp(plan->implementation, "mostly_uneven") == 0;
  if (mostly && ++calls % 6 == 0) return;
  if (mostly || strcmp(plan->implementation, "uneven") == 0) {
    gather_in_one(batch);
    return;
  }
  for (uint64_t i = 0; i < batch->count; ++i) batch->seconds[i] = forge(plan->implementation, batch->seconds[i]);
}
const cheat the_cheat = {
    .names = {"hundredth", "zero", "negative", "nan", "constant", "uneven", "mostly_uneven", "not_alone", "cold"},
    .batch = batch};
