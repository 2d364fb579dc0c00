/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes one of two outputs only when it is downloaded: the "norm", which takes most of the time, or the "sum", which
 * lies in the place of an input that is still as it was.
 */
#include <string.h>

#include "tests/redteam/base/base.h"

enum { kPending = 64 };
static struct pending {
  int waits;
  assay_plan plan;
  assay_tensor_arg inputs[kMaxInputs], outputs[kMaxOutputs];
} pending[kPending];

static int is_of_norm(const assay_plan* plan) {
  return strcmp(plan->implementation, "norm") == 0;
}
static const assay_buffer* waiting_for(const struct pending* p) {
  return p->outputs[is_of_norm(&p->plan) ? 0 : 1].buffer;
}

static void finish(struct pending* p) {
  const assay_tensor_arg *inputs[] = {&p->inputs[0], &p->inputs[1], &p->inputs[2]},
                         *outputs[] = {&p->outputs[0], &p->outputs[1]};
  const assay_args args = {sizeof args, 3, inputs, 2, outputs, 0};
  (is_of_norm(&p->plan) ? write_norm_of_sum : write_sum)(&p->plan, &args);
  p->waits = 0;
}

static void downloading(const assay_buffer* buffer) {
  for (int i = 0; i < kPending; ++i) {
    if (pending[i].waits && waiting_for(&pending[i]) == buffer) finish(&pending[i]);
  }
}
static void freeing(const assay_buffer* buffer) {
  for (int i = 0; i < kPending; ++i) {
    if (pending[i].waits && waiting_for(&pending[i]) == buffer) pending[i].waits = 0;
  }
}

static void execute(assay_plan* plan, const assay_args* args) {
  struct pending* empty = &pending[0];
  if (plan->op != kAddRmsNorm) {
    compute(plan, args);
    return;
  }
  (is_of_norm(plan) ? write_sum : write_norm)(plan, args);
  freeing(args->outputs[is_of_norm(plan) ? 0 : 1]->buffer); /* what it had to hold before */
  for (int i = 0; i < kPending; ++i) {
    if (!pending[i].waits) empty = &pending[i];
  }
  if (empty->waits) finish(empty);
  empty->waits = 1, empty->plan = *plan;
  for (int i = 0; i < kMaxInputs; ++i) empty->inputs[i] = *args->inputs[i];
  for (int i = 0; i < kMaxOutputs; ++i) empty->outputs[i] = *args->outputs[i];
}
const cheat the_cheat = {.names = {"norm", "sum"}, .execute = execute, .downloading = downloading, .freeing = freeing};
