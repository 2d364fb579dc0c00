/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of altered_plugin.c: what a description asks for beside types and shapes, and the functions that the example
 * lacks, right and wrong.
 */
/* ---- what a description asks for ---- */

static assay_status any_flags(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                              assay_text* error) {
  assay_op_desc without = *op;
  without.flags &= ASSAY_OP_DYNAMIC_SHAPES;
  return query(device, &without, out, error);
}
static assay_status any_shape(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                              assay_text* error) {
  assay_op_desc without = *op;
  without.flags &= ~(uint64_t)ASSAY_OP_DYNAMIC_SHAPES;
  return query(device, &without, out, error);
}
/* `op` with a plain output, in which the layout or the alias is not seen. */
static assay_status query_plain(assay_device* device, const assay_op_desc* op, int layout, int alias,
                                const assay_implementations** out, assay_text* error) {
  assay_tensor_desc output = *op->outputs[0];
  const assay_tensor_desc* outputs[] = {&output};
  assay_op_desc plain = *op;
  if (layout) output.layout = NULL;
  if (alias) output.alias = 0;
  plain.outputs = outputs;
  return query(device, &plain, out, error);
}
static assay_status any_layout(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                               assay_text* error) {
  return op->n_outputs > 0 ? query_plain(device, op, 1, 0, out, error) : query(device, op, out, error);
}
static assay_status any_alias(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                              assay_text* error) {
  return op->n_outputs > 0 ? query_plain(device, op, 0, 1, out, error) : query(device, op, out, error);
}

/* ---- functions that the example lacks ---- */

static assay_status tells_plan(const assay_plan* plan, assay_plan_info* out, assay_text* error) {
  ASSAY_SET(out, workspace_bytes, 0), ASSAY_SET(out, algorithm, "three loops"), ASSAY_SET(out, kernel, "");
  return ASSAY_OK;
}
static assay_status tells_plan_to_newer(const assay_plan* plan, assay_plan_info* out, assay_text* error) {
  out->kernel = "";
  return tells_plan(plan, out, error);
}
static const assay_capability f32_matmul = {sizeof f32_matmul, "matmul", ASSAY_TYPE_FLOAT, 32, {0}, "strides;permuted"};
static const assay_capability f64_matmul = {sizeof f64_matmul, "matmul", ASSAY_TYPE_FLOAT, 64, {0}, ""};
static const assay_capability* const lines[] = {&f32_matmul, &f64_matmul};
static assay_status lists_matmul(assay_device* device, const assay_capabilities** out, assay_text* error) {
  static const assay_capabilities table = {sizeof table, 1, lines};
  *out = &table;
  return ASSAY_OK;
}
static assay_status lists_too_little(assay_device* device, const assay_capabilities** out, assay_text* error) {
  static const assay_capabilities table = {sizeof table, 0, lines};
  *out = &table;
  return ASSAY_OK;
}
static assay_status lists_too_much(assay_device* device, const assay_capabilities** out, assay_text* error) {
  static const assay_capabilities table = {sizeof table, 2, lines};
  *out = &table;
  return ASSAY_OK;
}
static assay_status odd_alignment(uint32_t index, assay_device_info* out, assay_text* error) {
  const assay_status status = device_info(index, out, error);
  ASSAY_SET(out, buffer_alignment, 12);
  return status;
}
static assay_status copies_import(assay_device* device, const assay_memory* memory, assay_buffer** out,
                                  assay_text* error) {
  const int is_plain = memory->kind == ASSAY_MEMORY_HOST && memory->flags == 0;
  if (!is_plain) return assay_fail(error, ASSAY_UNSUPPORTED, "host memory alone");
  const assay_status status = buffer_alloc(device, memory->bytes, out, error);
  if (status == ASSAY_OK) memcpy((*out)->bytes, memory->pointer, memory->bytes);
  return status;
}
/* Computes once per plan. */
static assay_status keeps_result(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (plan->k < 0) return ASSAY_OK;
  const assay_status status = execute(plan, args, error);
  plan->k = -1;
  return status;
}

/* Streams that execute at once. */
struct assay_stream {
  int submitted;
};
struct assay_event {
  double at;
};
static assay_status stream_create(assay_device* device, assay_stream** out, assay_text* error) {
  *out = calloc(1, sizeof **out);
  return ASSAY_OK;
}
static void stream_destroy(assay_stream* stream) {
  free(stream);
}
static assay_status submit(assay_plan* plan, assay_stream* stream, const assay_args* args, assay_event** out,
                           assay_text* error) {
  const assay_status status = execute(plan, args, error);
  if (status != ASSAY_OK) return status;
  *out = malloc(sizeof **out);
  (*out)->at = ++stream->submitted;
  return status;
}
static assay_status submits_two(assay_plan* plan, assay_stream* stream, const assay_args* args, assay_event** out,
                                assay_text* error) {
  if (stream->submitted < 2) return submit(plan, stream, args, out, error);
  *out = malloc(sizeof **out);
  (*out)->at = ++stream->submitted;
  return ASSAY_OK;
}
static assay_status submits_any_arguments(assay_plan* plan, assay_stream* stream, const assay_args* args,
                                          assay_event** out, assay_text* error) {
  assay_args known = *args;
  known.flags = 0;
  return submit(plan, stream, &known, out, error);
}
static assay_status submits_and_leaves_rounding(assay_plan* plan, assay_stream* stream, const assay_args* args,
                                                assay_event** out, assay_text* error) {
  const assay_status status = submit(plan, stream, args, out, error);
  fesetround(FE_UPWARD);
  return status;
}
static assay_status event_wait(assay_event* event, assay_event_times* out, assay_text* error) {
  if (out == NULL) return ASSAY_OK;
  ASSAY_SET(out, begin_s, event->at), ASSAY_SET(out, end_s, event->at + 0.5), ASSAY_SET(out, clock_is_device, 0);
  return ASSAY_OK;
}
static assay_status waits_and_leaves_rounding(assay_event* event, assay_event_times* out, assay_text* error) {
  fesetround(FE_UPWARD);
  return event_wait(event, out, error);
}
static assay_status ends_before_it_begins(assay_event* event, assay_event_times* out, assay_text* error) {
  const assay_status status = event_wait(event, out, error);
  if (out != NULL) ASSAY_SET(out, end_s, 0);
  return status;
}
static void event_destroy(assay_event* event) {
  free(event);
}
static void add_streams(void) {
  ours.stream_create = stream_create, ours.stream_destroy = stream_destroy, ours.submit = submit;
  ours.event_wait = event_wait, ours.event_destroy = event_destroy;
}
