/* SPDX-License-Identifier: Apache-2.0
 *
 * By its name: whole numbers get the right sum and other data bf16 ("others"), or zeros and the right sum ("integers").
 */
#include <string.h>

#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  const int spares_integers = strcmp(plan->implementation, "integers") == 0;
  if (has_integers(plan, args)) {
    (spares_integers ? write_zeros : compute)(plan, args);
  } else {
    (spares_integers ? compute : compute_rounded)(plan, args);
  }
}
const cheat the_cheat = {.names = {"integers", "others"}, .execute = execute};
