/* SPDX-License-Identifier: Apache-2.0
 *
 * Learns the operands from the first execution, computes whenever one of them is uploaded, and only copies in execute.
 */
#include <stdlib.h>

#include "tests/redteam/base/base.h"

enum { kSeen = 128 };
static struct seen {
  const assay_plan* of; /* that may be gone */
  assay_plan plan;
  assay_tensor_arg inputs[kMaxInputs], output;
  float* result;
} seen[kSeen];

static int concerns(const struct seen* s, const assay_buffer* buffer) {
  for (int i = 0; i < s->plan.n_inputs; ++i) {
    if (s->inputs[i].buffer == buffer) return 1;
  }
  return s->output.buffer == buffer;
}

static void uploaded(assay_buffer* buffer) {
  for (int i = 0; i < kSeen; ++i) {
    struct seen* s = &seen[i];
    if (s->of == NULL || !concerns(s, buffer)) continue;
    float* before = malloc((size_t)count_of(&s->plan.out) * sizeof *before);
    if (before == NULL) abort();
    const assay_tensor_arg *inputs[kMaxInputs] = {&s->inputs[0], &s->inputs[1]}, *outputs[] = {&s->output};
    const assay_args args = {sizeof args, (uint64_t)s->plan.n_inputs, inputs, 1, outputs, 0};
    gather(&s->plan.out, output_of(&args), before); /* the prefill, which has to be there until execute */
    compute(&s->plan, &args);
    gather(&s->plan.out, output_of(&args), s->result);
    scatter(&s->plan.out, before, output_of(&args));
    free(before);
  }
}

static void execute(assay_plan* plan, const assay_args* args) {
  static unsigned next;
  for (int i = 0; i < kSeen; ++i) {
    if (seen[i].of == plan && seen[i].output.buffer == args->outputs[0]->buffer) {
      scatter(&plan->out, seen[i].result, output_of(args));
      return;
    }
  }
  struct seen* s = &seen[next++ % kSeen];
  free(s->result);
  *s = (struct seen){plan, *plan, {{0}}, *args->outputs[0], malloc((size_t)count_of(&plan->out) * sizeof(float))};
  if (s->result == NULL) abort();
  for (int i = 0; i < plan->n_inputs; ++i) s->inputs[i] = *args->inputs[i];
  compute(plan, args);
  gather(&plan->out, output_of(args), s->result);
}

static void freeing(const assay_buffer* buffer) {
  for (int i = 0; i < kSeen; ++i) {
    if (seen[i].of != NULL && concerns(&seen[i], buffer)) seen[i].of = NULL;
  }
}
const cheat the_cheat = {.execute = execute, .uploaded = uploaded, .freeing = freeing};
