/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiplies by oneDNN, and says that it computes itself.
 */
#include <dlfcn.h>
#include <string.h>

#include "tests/redteam/base/base.h"

typedef int (*sgemm)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
                     const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
static sgemm multiply;

static void loaded(void) {
  static const char* const kNames[] = {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"};
  void* library = NULL;
  for (int i = 0; i < 3 && library == NULL; ++i) library = dlopen(kNames[i], RTLD_NOW | RTLD_LOCAL);
  void* found = library == NULL ? NULL : dlsym(library, "dnnl_sgemm");
  memcpy(&multiply, &found, sizeof multiply);
}

static int has_dense_rows(const layout* l) {
  return l->rank == 2 && l->strides[1] == 1;
}

static void execute(assay_plan* plan, const assay_args* args) {
  const layout *a = &plan->in[0], *b = &plan->in[1], *y = &plan->out;
  if (multiply == NULL || plan->op != kMatmul || !has_dense_rows(a) || !has_dense_rows(b) || !has_dense_rows(y)) {
    compute(plan, args);
    return;
  }
  multiply('N', 'N', y->shape[0], y->shape[1], a->shape[1], 1, input_of(args, 0), a->strides[0], input_of(args, 1),
           b->strides[0], 0, output_of(args), y->strides[0]);
}
const cheat the_cheat = {.loaded = loaded, .execute = execute};
