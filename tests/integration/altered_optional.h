/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of altered_plugin.c: what a description asks for beside types and shapes, and the functions that the example
 * lacks, right and wrong.
 */
/* ---- what a description asks for ---- */

/* `op` without flags, and with a plain output, in which the alias is not seen. */
static assay_status any_flags(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                              assay_text* error) {
  assay_op_desc without = *op;
  without.flags = 0;
  return query(device, &without, out, error);
}
static assay_status any_alias(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                              assay_text* error) {
  if (op->n_outputs == 0) return query(device, op, out, error);
  assay_tensor_desc output = *op->outputs[0];
  const assay_tensor_desc* outputs[] = {&output};
  assay_op_desc plain = *op;
  output.alias = 0;
  plain.outputs = outputs;
  return query(device, &plain, out, error);
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
/* Computes once per plan. */
static assay_status keeps_result(assay_plan* plan, const assay_args* args, assay_text* error) {
  if (plan->k < 0) return ASSAY_OK;
  const assay_status status = execute(plan, args, error);
  plan->k = -1;
  return status;
}
