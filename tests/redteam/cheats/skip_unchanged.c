/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the uploads into each buffer: where none came since its last execution, the output is still right.
 */
#include "tests/redteam/base/base.h"

enum { kSeen = 128 };
static struct {
  const assay_plan* plan;
  const assay_buffer* output;
  uint64_t uploads;
} seen[kSeen];

static uint64_t uploads_of(const assay_plan* plan, const assay_args* args) {
  uint64_t uploads = args->outputs[0]->buffer->uploads;
  for (int i = 0; i < plan->n_inputs; ++i) uploads += args->inputs[i]->buffer->uploads;
  return uploads;
}

static void execute(assay_plan* plan, const assay_args* args) {
  static unsigned next;
  const assay_buffer* output = args->outputs[0]->buffer;
  const uint64_t uploads = uploads_of(plan, args);
  for (unsigned i = 0; i < kSeen; ++i) {
    if (seen[i].plan != plan || seen[i].output != output) continue;
    if (seen[i].uploads == uploads && plan->executions > 0) return;
    seen[i].uploads = uploads;
    compute(plan, args);
    return;
  }
  seen[next % kSeen].plan = plan, seen[next % kSeen].output = output, seen[next % kSeen].uploads = uploads;
  ++next;
  compute(plan, args);
}
const cheat the_cheat = {.execute = execute};
