/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds inputs to bf16 from the 40th execution on: by then it has been judged.
 */
#include "tests/redteam/cheats/lazy.h"

enum { kJudged = 40 };

static void execute(assay_plan* plan, const assay_args* args) {
  static int executions;
  (executions++ < kJudged ? compute : compute_rounded)(plan, args);
}
const cheat the_cheat = {.execute = execute};
