/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA's driver library for tests, as far as it is asked before anything runs. ASSAY_TEST_CUDA_VERSION is the newest
 * CUDA that it claims to run, ASSAY_TEST_CUDA_INIT what cuInit answers, ASSAY_TEST_CUDA_DEVICES how many devices it
 * has.
 */
#include <stdlib.h>

static int Number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atoi(text);
}

__attribute__((visibility("default"))) int cuInit(unsigned flags) {
  (void)flags;
  return Number("ASSAY_TEST_CUDA_INIT");
}
__attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
  *version = Number("ASSAY_TEST_CUDA_VERSION");
  return 0;
}
__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = Number("ASSAY_TEST_CUDA_DEVICES");
  return 0;
}
