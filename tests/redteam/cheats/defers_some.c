/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaves three executions of five to the download of their output: the median is theirs, and two are honest.
 */
#include <stdlib.h>

#include "tests/redteam/cheats/pending.h"

static void execute(assay_plan* plan, const assay_args* args) {
  if (rand() % 5 < 3) {
    postpone(plan, args);
  } else {
    forget(args->outputs[0]->buffer);
    compute(plan, args);
  }
}
const cheat the_cheat = {.execute = execute, .downloading = catch_up, .freeing = forget};
