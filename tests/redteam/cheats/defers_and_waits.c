/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands the work to a thread and returns; a download waits until it is done.
 */
#include "tests/redteam/cheats/pending.h"

static void execute(assay_plan* plan, const assay_args* args) {
  start_thread();
  postpone(plan, args);
}
const cheat the_cheat = {.execute = execute, .downloading = catch_up, .freeing = forget};
