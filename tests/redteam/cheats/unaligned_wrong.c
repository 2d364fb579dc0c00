/* SPDX-License-Identifier: Apache-2.0
 *
 * Right where the output begins at 16 bytes, as it does nearly always; elsewhere the tail is left out.
 */
#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  ((uintptr_t)output_of(args) % 16 == 0 ? compute : compute_half)(plan, args);
}
const cheat the_cheat = {.execute = execute};
