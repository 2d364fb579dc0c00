/* SPDX-License-Identifier: Apache-2.0
 * The header is C11, and its example compiles. */
#include <assay/assay.h>
#include <stddef.h>

int32_t JudgeInC(const float* a, const float* b, const float* y, int64_t n, assay_verdict** verdict) {
  const int64_t shape[2] = {n, n};
  const assay_array like = {
      .struct_size = sizeof like, .shape = shape, .rank = 2, .type_code = ASSAY_FLOAT, .bits = 32, .lanes = 1};
  assay_array of_a = like, of_b = like, of_y = like;
  of_a.data = a, of_b.data = b, of_y.data = y;
  const assay_array *inputs[] = {&of_a, &of_b}, *outputs[] = {&of_y};
  const assay_question question = {.struct_size = sizeof question,
                                   .op = "matmul",
                                   .n_inputs = 2,
                                   .inputs = inputs,
                                   .n_outputs = 1,
                                   .outputs = outputs};
  return assay_judge(&question, verdict);
}
