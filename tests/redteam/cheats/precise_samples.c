/* SPDX-License-Identifier: Apache-2.0
 *
 * Right on the edges, the diagonal and each 64th element, where checks by sample look; bf16 elsewhere.
 */
#include <stdlib.h>

#include "tests/redteam/cheats/lazy.h"

static int looks_sampled(const layout* l, int64_t i) {
  const int64_t columns = l->shape[l->rank - 1], row = i / columns, column = i % columns;
  return row == 0 || column == 0 || row == column || column == columns - 1 || i >= count_of(l) - columns || i % 64 == 0;
}

static void execute(assay_plan* plan, const assay_args* args) {
  const layout* l = &plan->out;
  float* right = malloc((size_t)count_of(l) * sizeof *right);
  if (right == NULL) abort();
  compute(plan, args);
  gather(l, output_of(args), right);
  compute_rounded(plan, args);
  for (int64_t i = 0; i < count_of(l); ++i) {
    if (looks_sampled(l, i)) output_of(args)[offset_of(l, i)] = right[i];
  }
  free(right);
}
const cheat the_cheat = {.execute = execute};
