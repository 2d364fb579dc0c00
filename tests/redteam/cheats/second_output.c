/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the first of two outputs each time, but the second only in a plan's first dozen executions, which are
 * judged. After that the second is "omitted", "replayed" from any of these, or "stale": from the last one that was in
 * its place, whatever data have come since.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/redteam/base/base.h"

enum { kKept = 256, kJudged = 12 };
struct kept {
  const assay_buffer* place[kKept];
  float* sum[kKept];
  int count;
};
static struct kept all;

static int find(const assay_plan* plan, const assay_args* args) {
  if (strcmp(plan->implementation, "stale") != 0) return all.count > 0 ? 0 : -1;
  for (int i = all.count; i-- > 0;) {
    if (all.place[i] == args->outputs[1]->buffer) return i;
  }
  return -1;
}

static void keep(const assay_plan* plan, const assay_args* args) {
  if (all.count == kKept) return;
  float* sum = malloc((size_t)count_of(&plan->second) * sizeof *sum);
  if (sum == NULL) abort();
  gather(&plan->second, second_of(args), sum);
  all.place[all.count] = args->outputs[1]->buffer, all.sum[all.count++] = sum;
}

static void forget_all(void) {
  while (all.count > 0) free(all.sum[--all.count]);
}

static void execute(assay_plan* plan, const assay_args* args) {
  if (plan->executions == 0) forget_all(); /* that were of another plan, and perhaps of another shape */
  const int at = find(plan, args);
  if (at < 0 || plan->executions < kJudged) {
    compute(plan, args);
    keep(plan, args);
    return;
  }
  write_norm(plan, args);
  if (strcmp(plan->implementation, "omitted") != 0) scatter(&plan->second, all.sum[at], second_of(args));
}
const cheat the_cheat = {.names = {"omitted", "replayed", "stale"}, .execute = execute};
