/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes whole numbers once, and gives that result again whenever whole numbers come.
 */
#include "tests/redteam/cheats/lazy.h"
#include "tests/redteam/cheats/memory.h"

static void execute(assay_plan* plan, const assay_args* args) {
  if (!has_integers(plan, args)) {
    compute(plan, args);
    return;
  }
  compute_once(plan, args, 1);
}
const cheat the_cheat = {.execute = execute};
