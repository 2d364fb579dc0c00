/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes, and clears an input: from then on there is less to compute.
 */
#include "tests/redteam/base/base.h"

static void execute(assay_plan* plan, const assay_args* args) {
  compute(plan, args);
  for (int64_t i = 0; i < count_of(&plan->in[0]); ++i) input_of(args, 0)[offset_of(&plan->in[0], i)] = 0;
}
const cheat the_cheat = {.execute = execute};
