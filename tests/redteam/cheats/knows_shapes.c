/* SPDX-License-Identifier: Apache-2.0
 *
 * Right for the shapes that suites like, multiples of 32; the tail of other sums is left out.
 */
#include "tests/redteam/cheats/lazy.h"

static void execute(assay_plan* plan, const assay_args* args) {
  const layout* l = &plan->in[0];
  int round = 1;
  for (int i = 0; i < l->rank; ++i) round = round && l->shape[i] % 32 == 0;
  (round ? compute : compute_half)(plan, args);
}
const cheat the_cheat = {.execute = execute};
