/* SPDX-License-Identifier: Apache-2.0
 *
 * One execution in three or a thousand, as its name says and by a clock that nobody knows, loses half of its terms.
 */
#include <string.h>

#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  const uint64_t random = (uint64_t)(now_s() * 1e9) * UINT64_C(6364136223846793005) >> 33;
  const uint64_t one_in = strcmp(plan->implementation, "third") == 0 ? 3 : 1000;
  (random % one_in == 0 ? compute_half : compute)(plan, args);
}
const cheat the_cheat = {.names = {"third", "thousandth"}, .execute = execute};
