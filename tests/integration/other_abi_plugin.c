/* SPDX-License-Identifier: Apache-2.0
 *
 * A library without the entry point of this ABI; with ASSAY_TEST_MAJOR, with that of another one.
 */
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
