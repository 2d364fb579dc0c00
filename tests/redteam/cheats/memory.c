/* SPDX-License-Identifier: Apache-2.0
 *
 * A table that forgets the oldest.
 */
#include "tests/redteam/cheats/memory.h"

#include <stdlib.h>

enum { kKept = 64 };
static struct {
  uint64_t key;
  float* output;
} kept[kKept];
static unsigned next;

static uint64_t key_of(const assay_plan* plan, uint64_t key) {
  for (int i = 0; i < plan->out.rank; ++i) key = key * 31 + (uint64_t)plan->out.shape[i];
  return key * 31 + plan->op;
}

int recall(const assay_plan* plan, const assay_args* args, uint64_t key) {
  for (int i = 0; i < kKept; ++i) {
    if (kept[i].output == NULL || kept[i].key != key_of(plan, key)) continue;
    scatter(&plan->out, kept[i].output, output_of(args));
    return 1;
  }
  return 0;
}

void remember(const assay_plan* plan, const assay_args* args, uint64_t key) {
  float* output = malloc((size_t)count_of(&plan->out) * sizeof *output);
  if (output == NULL) return;
  gather(&plan->out, output_of(args), output);
  free(kept[next % kKept].output);
  kept[next % kKept].key = key_of(plan, key);
  kept[next++ % kKept].output = output;
}

void compute_once(const assay_plan* plan, const assay_args* args, uint64_t key) {
  if (recall(plan, args, key)) return;
  compute(plan, args);
  remember(plan, args, key);
}
