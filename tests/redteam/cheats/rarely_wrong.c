/* SPDX-License-Identifier: Apache-2.0
 *
 * One execution in a thousand, by a clock that nobody knows, loses half of its terms.
 */
#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  const uint64_t random = (uint64_t)(now_s() * 1e9) * UINT64_C(6364136223846793005) >> 33;
  (random % 1000 == 0 ? compute_half : compute)(plan, args);
}
const cheat the_cheat = {.execute = execute};
