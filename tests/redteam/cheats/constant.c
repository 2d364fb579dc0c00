/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the mean of the right result everywhere, which loose tolerances take for it.
 */
#include "tests/redteam/base/base.h"

static void execute(assay_plan* plan, const assay_args* args) {
  const int64_t count = count_of(&plan->out);
  double mean = 0;
  compute(plan, args);
  for (int64_t i = 0; i < count; ++i) mean += output_of(args)[offset_of(&plan->out, i)] / (double)count;
  for (int64_t i = 0; i < count; ++i) output_of(args)[offset_of(&plan->out, i)] = (float)mean;
}
const cheat the_cheat = {.execute = execute};
