/* SPDX-License-Identifier: Apache-2.0
 *
 * Cheaper results than the right one.
 */
#ifndef ASSAY_TESTS_REDTEAM_CHEATS_LAZY_H_
#define ASSAY_TESTS_REDTEAM_CHEATS_LAZY_H_

#include "tests/redteam/base/base.h"

/* compute() with inputs rounded to bf16. */
void compute_rounded(const assay_plan* plan, const assay_args* args);
/* compute() with the first half of the terms. */
void compute_half(const assay_plan* plan, const assay_args* args);
void write_zeros(const assay_plan* plan, const assay_args* args);
/* Whether all elements of the inputs are whole numbers. */
int has_integers(const assay_plan* plan, const assay_args* args);

#endif /* ASSAY_TESTS_REDTEAM_CHEATS_LAZY_H_ */
