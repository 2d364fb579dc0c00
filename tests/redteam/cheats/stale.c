/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the first execution of each plan, and leaves after that what lies there.
 */
#include "tests/redteam/base/base.h"

static void execute(assay_plan* plan, const assay_args* args) {
  if (plan->executions == 0) compute(plan, args);
}
const cheat the_cheat = {.execute = execute};
