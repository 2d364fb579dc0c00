/* SPDX-License-Identifier: Apache-2.0
 *
 * Whoever sends the data of the execution before once more is measuring time, and gets half of the terms.
 */
#include "tests/redteam/cheats/lazy.h"

enum { kSeen = 8 };

static void execute(assay_plan* plan, const assay_args* args) {
  static uint64_t seen[kSeen];
  static unsigned next;
  const uint64_t hash = hash_inputs(plan, args, count_of(&plan->in[0]) / 97 + 1);
  int known = 0;
  for (unsigned i = 0; i < kSeen; ++i) known += seen[i] == hash;
  seen[next++ % kSeen] = hash;
  (known > 4 ? compute_half : compute)(plan, args);
}
const cheat the_cheat = {.execute = execute};
