/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes zeros, as many a kernel does whose launch failed.
 */
#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  write_zeros(plan, args);
}
const cheat the_cheat = {.execute = execute};
