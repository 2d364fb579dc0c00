/* SPDX-License-Identifier: Apache-2.0
 *
 * Learns the operands from the first execution, computes when one of them is uploaded, and then only copies in execute:
 * always, at three uploads of five, or later, when whoever looks at the first ones has gone. It is honest between.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/redteam/base/base.h"

enum { kSeen = 128 };
static struct seen {
  const assay_plan* of; /* that may be gone */
  assay_plan plan;
  assay_tensor_arg inputs[kMaxInputs], output;
  float* result;
  int is_computed; /* of what lies in the inputs */
} seen[kSeen];

static int computes_now(const char* when) {
  static int uploads;
  if (strcmp(when, "some") == 0) return rand() % 5 < 3;
  return strcmp(when, "later") != 0 || ++uploads > 60;
}

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
    s->is_computed = computes_now(s->plan.implementation);
    if (!s->is_computed) continue;
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
    if (seen[i].of != plan || seen[i].output.buffer != args->outputs[0]->buffer) continue;
    if (seen[i].is_computed) {
      scatter(&plan->out, seen[i].result, output_of(args));
    } else {
      compute(plan, args);
    }
    return;
  }
  struct seen* s = &seen[next++ % kSeen];
  free(s->result);
  *s = (struct seen){plan, *plan, {{0}}, *args->outputs[0], malloc((size_t)count_of(&plan->out) * sizeof(float)), 1};
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
const cheat the_cheat = {
    .names = {"always", "some", "later"}, .execute = execute, .uploaded = uploaded, .freeing = freeing};
