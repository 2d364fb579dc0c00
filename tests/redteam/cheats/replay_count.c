/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes for the first dozen executions of a plan, and gives the results of two before after that.
 */
#include "tests/redteam/cheats/memory.h"

enum { kWatched = 12 };

static void execute(assay_plan* plan, const assay_args* args) {
  if (plan->executions >= kWatched && recall(plan, args, plan->executions % 2)) return;
  compute(plan, args);
  if (plan->executions + 2 >= kWatched) remember(plan, args, plan->executions % 2);
}
const cheat the_cheat = {.execute = execute};
