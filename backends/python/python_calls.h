/* SPDX-License-Identifier: Apache-2.0
 * What the interpreter that is this process registers before the plugin is loaded. Each function returns an
 * assay_status and writes into `text`, `capacity` bytes large: its answer, or why it failed. harness/python/assay/
 * _bridge.py has the other side. */
#pragma once

#include "backends/abi/assay_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_PYTHON_DEVICE_CLOCK 1 /* the duration is of the device's own clock */
#define ASSAY_PYTHON_COPIES 2       /* the kernel saw copies of the operands, whose caches nobody has flushed */

typedef struct assay_python_calls {
  uint64_t struct_size;
  /* Lines: name, version of what computes, then one device each. */
  int32_t (*describe)(char* text, uint64_t capacity);
  /* Lines: implementation, a tabulator, its contract. */
  int32_t (*query)(uint32_t device, const assay_op_desc* op, char* text, uint64_t capacity);
  int32_t (*prepare)(uint32_t device, const assay_op_desc* op, const char* implementation, int64_t* plan, char* text,
                     uint64_t capacity);
  void (*release)(int64_t plan);
  /* `pointers`: element zero of each input, then of each output, in the host's memory. */
  int32_t (*execute)(int64_t plan, const uint64_t* pointers, double* seconds, int32_t* flags, char* text,
                     uint64_t capacity);
} assay_python_calls;

/* `calls` lives as long as the process. */
ASSAY_EXPORT void assay_python_register(const assay_python_calls* calls);

#ifdef __cplusplus
}
#endif
