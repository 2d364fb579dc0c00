/* SPDX-License-Identifier: Apache-2.0
 *
 * A library without the entry point of this ABI; with ASSAY_TEST_MAJOR, with that of another one; with
 * ASSAY_TEST_BEFORE_1_0, with what the header before 1.0 made: the same symbol and the same number, but a table in
 * which the functions lie elsewhere.
 */
#include <stdint.h>

int assay_test_symbol(void);
int assay_test_symbol(void) {
  return 0;
}

#ifdef ASSAY_TEST_MAJOR
const void* assay_backend_v2(void);
const void* assay_backend_v2(void) {
  return 0;
}
#endif

#ifdef ASSAY_TEST_BEFORE_1_0
static int32_t nothing(void) {
  return 3;
}
/* describe ... query, buffer_alloc ... execute, execute_timed */
struct older_api {
  uint64_t struct_size;
  uint32_t abi_major, abi_minor;
  int32_t (*functions[14])(void);
};
const void* assay_backend_v1(void);
const void* assay_backend_v1(void) {
  static struct older_api api = {sizeof api, 1, 0, {0}};
  for (int i = 0; i < 14; ++i) api.functions[i] = nothing;
  return &api;
}
#endif
