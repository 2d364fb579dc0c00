/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes once for each content of the inputs, of which it hashes some hundred elements.
 */
#include "tests/redteam/cheats/memory.h"

static void execute(assay_plan* plan, const assay_args* args) {
  compute_once(plan, args, hash_inputs(plan, args, count_of(&plan->in[0]) / 97 + 1));
}
const cheat the_cheat = {.execute = execute};
