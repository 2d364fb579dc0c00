/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands the work to a thread and returns. A download waits for nobody: whoever asks late finds it right.
 */
#include "tests/redteam/cheats/pending.h"

static void execute(assay_plan* plan, const assay_args* args) {
  start_thread();
  postpone(plan, args);
}
const cheat the_cheat = {.execute = execute, .freeing = forget};
