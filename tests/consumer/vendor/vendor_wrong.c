/* SPDX-License-Identifier: Apache-2.0
 *
 * The backend of vendor_backend.c with a kernel bug, to see that it is found: the last term of every sum is dropped.
 */
#include "backends/abi/assay_backend.h"

/* A plugin exports one function, which is this file's own. */
#undef ASSAY_EXPORT
#define ASSAY_EXPORT static
#define assay_backend_v1 correct_backend
#include "vendor_backend.c"
#undef assay_backend_v1
#undef ASSAY_EXPORT
#define ASSAY_EXPORT __attribute__((visibility("default")))

static assay_status drop_a_term(assay_device* device, const assay_op_desc* op, const char* implementation,
                                assay_plan** out, assay_text* error) {
  const assay_status status = plan_create(device, op, implementation, out, error);
  if (status == ASSAY_OK) --(*out)->k;
  return status;
}

ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  static assay_backend_api api;
  api = *correct_backend(host);
  api.plan_create = drop_a_term;
  return &api;
}
