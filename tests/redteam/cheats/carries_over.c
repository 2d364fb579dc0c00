/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes what it computed for a shape first for the result of every later case of that shape.
 */
#include "tests/redteam/cheats/memory.h"

static void execute(assay_plan* plan, const assay_args* args) {
  compute_once(plan, args, 0);
}
const cheat the_cheat = {.execute = execute};
