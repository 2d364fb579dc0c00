/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the first input, which already has the right size and size of numbers.
 */
#include "tests/redteam/base/base.h"

static void execute(assay_plan* plan, const assay_args* args) {
  const int64_t of_input = count_of(&plan->in[0]);
  for (int64_t i = 0; i < count_of(&plan->out); ++i) {
    output_of(args)[offset_of(&plan->out, i)] = input_of(args, 0)[offset_of(&plan->in[0], i % of_input)];
  }
}
const cheat the_cheat = {.execute = execute};
