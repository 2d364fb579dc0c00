/* SPDX-License-Identifier: Apache-2.0
 * Functions that a Python interpreter registers before the plugin is loaded into its process. Each writes an
 * assay_status into `status`; and into `text`, which has `capacity` bytes, its answer, or why it failed. Signals and
 * other threads can raise an exception while a function begins or ends: then `status` is unchanged or
 * ASSAY_PYTHON_NO_ANSWER, and `interruption` tells the exception. harness/python/assay/_bridge.py has the other side.
 */
#pragma once

#include "backends/abi/assay_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_PYTHON_DEVICE_CLOCK 1 /* the duration is of the device's own clock */
#define ASSAY_PYTHON_COPIES 2       /* the kernel saw copies of the operands, whose caches nobody has flushed */
#define ASSAY_PYTHON_NO_ANSWER (-1) /* no assay_status */

typedef struct assay_python_calls {
  uint64_t struct_size;
  /* Lines: name, version of what computes, then one device each, with tabulators between: its name, bytes of its
   * memory, 1 where operands lie in that memory, else 0, and its properties; of the host 0, 0 and none. */
  void (*describe)(int32_t* status, char* text, uint64_t capacity);
  /* Lines: implementation, a tabulator, its contract. */
  void (*query)(uint32_t device, const assay_op_desc* op, int32_t* status, char* text, uint64_t capacity);
  void (*prepare)(uint32_t device, const assay_op_desc* op, const char* implementation, int64_t* plan, int32_t* status,
                  char* text, uint64_t capacity);
  void (*release)(int64_t plan);
  /* `places`: two numbers for each input, then for each output, of where its element zero lies: a buffer that
   * `allocate` gave and the bytes from its begin, or 0 and the address in the host's memory. */
  void (*execute)(int64_t plan, const uint64_t* places, double* seconds, int32_t* flags, int32_t* status, char* text,
                  uint64_t capacity);
  /* The exception that the last call without an answer ended with. */
  void (*interruption)(int32_t* status, char* text, uint64_t capacity);
  /* Memory of devices whose operands lie there. A buffer's number is never 0; `upload` and `download` end when the
   * bytes are there. */
  void (*allocate)(uint32_t device, uint64_t bytes, uint64_t* buffer, int32_t* status, char* text, uint64_t capacity);
  void (*release_memory)(uint32_t device, uint64_t buffer);
  void (*upload)(uint32_t device, uint64_t buffer, uint64_t offset, const void* bytes, uint64_t size, int32_t* status,
                 char* text, uint64_t capacity);
  void (*download)(uint32_t device, uint64_t buffer, uint64_t offset, void* bytes, uint64_t size, int32_t* status,
                   char* text, uint64_t capacity);
  /* Lines: an operator, a tabulator, and the implementation that is registered for it. */
  void (*kernels)(uint32_t device, int32_t* status, char* text, uint64_t capacity);
} assay_python_calls;

/* `calls` lives as long as the process. */
ASSAY_EXPORT void assay_python_register(const assay_python_calls* calls);

#ifdef __cplusplus
}
#endif
