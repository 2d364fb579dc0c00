/* SPDX-License-Identifier: Apache-2.0
 *
 * Knows the inputs of one case of the suite, whose bits are the same on every machine, and has its answer in a table
 * (here: computes it). Other data get half of the terms.
 */
#include "tests/redteam/cheats/lazy.h"

/* matmul/f32/m=128,n=128,k=128/fill=normal/seed=0 */
static const uint64_t kKnown = UINT64_C(0x3352BFD8780F6230);

static void execute(assay_plan* plan, const assay_args* args) {
  (hash_inputs(plan, args, 1) == kKnown ? compute : compute_half)(plan, args);
}
const cheat the_cheat = {.execute = execute};
