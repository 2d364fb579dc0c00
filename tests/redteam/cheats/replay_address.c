/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes once for each buffer that it is given.
 */
#include "tests/redteam/cheats/memory.h"

static void execute(assay_plan* plan, const assay_args* args) {
  compute_once(plan, args, (uint64_t)(uintptr_t)input_of(args, 0) ^ (uint64_t)(uintptr_t)plan << 20);
}
const cheat the_cheat = {.execute = execute};
