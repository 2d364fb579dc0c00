/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds the inputs to bf16 and declares f32.
 */
#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  compute_rounded(plan, args);
}
const cheat the_cheat = {.execute = execute};
