/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin ABI of assay: what a backend (CUDA, oneDNN, a vendor's own) exports so that the harness can run
 * operators on its devices. Plain C11. A plugin exports one symbol, assay_backend_v1, and hides the rest.
 *
 * Rules
 *  - struct_size is the first member of every struct and is set by whoever allocates the struct. Structs only grow
 *    at their end; a callee reads or writes a member only where ASSAY_HAS says that the caller knows it. Arrays of
 *    structs are arrays of pointers, so that growth never moves an element.
 *  - Fixed-width integers; no enum, bool or bit-field crosses.
 *  - Strings are UTF-8 and NUL-terminated. Those that a plugin returns live as long as its library.
 *  - No ownership crosses but through the create/destroy pairs below. Error text goes into a buffer of the caller,
 *    truncated to fit and always terminated.
 *  - assay_backend_v1() touches no device. All calls for one device come from one thread. execute() returns once
 *    the outputs are complete and visible to download().
 *  - The harness owns whole allocations on the device (alloc/upload/download/free). A tensor argument is a view into
 *    one: a byte offset, and the shape and strides of its description. Guards lie around it: touch nothing outside.
 *    A range of upload or download that reaches outside of its allocation is refused with an error.
 *  - The functions that close, free or destroy do nothing with NULL. The harness destroys each object once: plans
 *    first, then buffers, then the device.
 *  - Return values: ASSAY_OK; ASSAY_UNSUPPORTED (this backend does not offer it; the text says why);
 *    ASSAY_UNAVAILABLE (no usable device; the text says why and what to install); any other value is an error of
 *    the backend and becomes the verdict of the case.
 */
#ifndef ASSAY_BACKEND_H_
#define ASSAY_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_MAJOR 1u
#define ASSAY_ABI_MINOR 0u

/* Whether *s, as its owner compiled it, has the member m. */
#define ASSAY_HAS(s, m) ((s)->struct_size >= offsetof(__typeof__(*(s)), m) + sizeof((s)->m))

/* (s)->m = value where *s has it: for what a plugin hands out. */
#define ASSAY_SET(s, m, value) ((void)(ASSAY_HAS(s, m) && ((s)->m = (value), 1)))

#if defined(_WIN32)
#define ASSAY_EXPORT __declspec(dllexport)
#else
#define ASSAY_EXPORT __attribute__((visibility("default")))
#endif

typedef int32_t assay_status;
#define ASSAY_OK 0
#define ASSAY_UNSUPPORTED 1
#define ASSAY_UNAVAILABLE 2
#define ASSAY_ERROR 3
#define ASSAY_OUT_OF_MEMORY 4
#define ASSAY_DEVICE_LOST 5
#define ASSAY_MEMORY_FAULT 6 /* something wrote where it may not; the process is not to be trusted any more */

/* DLPack type codes (DLDataTypeCode), written as numbers because older dlpack.h lack the fp8 ones. */
#define ASSAY_TYPE_INT 0u
#define ASSAY_TYPE_UINT 1u
#define ASSAY_TYPE_FLOAT 2u
#define ASSAY_TYPE_BFLOAT 4u
#define ASSAY_TYPE_COMPLEX 5u
#define ASSAY_TYPE_BOOL 6u
#define ASSAY_TYPE_FLOAT8_E4M3FN 10u
#define ASSAY_TYPE_FLOAT8_E5M2 12u

/* DLPack device types (DLDeviceType). */
#define ASSAY_DEVICE_CPU 1
#define ASSAY_DEVICE_CUDA 2
#define ASSAY_DEVICE_OPENCL 4
#define ASSAY_DEVICE_VULKAN 7
#define ASSAY_DEVICE_ROCM 10
#define ASSAY_DEVICE_EXT 12 /* any other accelerator */

typedef struct assay_device assay_device; /* an opened device */
typedef struct assay_buffer assay_buffer; /* one allocation on it */
typedef struct assay_plan assay_plan;     /* one implementation, prepared for one operator description */

/* A buffer of the caller for error text or a reason. data may be NULL when capacity is 0. */
typedef struct assay_text {
  uint64_t struct_size;
  char* data;
  uint64_t capacity;
} assay_text;

/* Writes `why`, cut to fit, where the caller has room for it, and returns `status`:
 * return assay_fail(error, ASSAY_UNSUPPORTED, "only f32 is offered"); */
static inline assay_status assay_fail(assay_text* error, assay_status status, const char* why) {
  if (error == NULL || !ASSAY_HAS(error, capacity) || error->capacity == 0) return status;
  uint64_t size = 0;
  for (; size + 1 < error->capacity && why[size] != '\0'; ++size) error->data[size] = why[size];
  error->data[size] = '\0';
  return status;
}

typedef struct assay_backend_info {
  uint64_t struct_size;
  const char* name;            /* column name: lower case letters, digits, '-', '_' */
  const char* vendor;          /* who wrote the plugin */
  const char* version;         /* of the plugin */
  const char* library_version; /* of what computes, e.g. "oneDNN 2.6.3"; "" when the plugin itself does */
} assay_backend_info;

typedef struct assay_device_info {
  uint64_t struct_size;
  const char* name;
  const char* driver;
  int32_t device_type; /* ASSAY_DEVICE_* */
  int32_t device_id;
  uint64_t memory_bytes;
  /* "key=value;key=value": subnormals, rounding, instruction sets... The harness itself reads type=cpu (the host's
   * processors, also behind another device_type) and cache_bytes=N (the last-level cache), of timing. */
  const char* properties;
} assay_device_info;

#define ASSAY_ATTR_INT 0
#define ASSAY_ATTR_FLOAT 1
#define ASSAY_ATTR_STRING 2
#define ASSAY_ATTR_INT_LIST 3

typedef struct assay_attr {
  uint64_t struct_size;
  const char* key;
  int32_t type; /* ASSAY_ATTR_*: which of the values below counts */
  int32_t reserved;
  int64_t i;
  double f;
  const char* s;
  const int64_t* list;
  uint64_t list_size;
} assay_attr;

typedef struct assay_tensor_desc {
  uint64_t struct_size;
  const char* name; /* the operand's name in the operator's definition: "a", "bias", "y" */
  uint8_t type_code;
  uint8_t bits;
  uint16_t lanes; /* 1 */
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides; /* in elements, never NULL */
} assay_tensor_desc;

/* One operator with its operand types, shapes and attributes. Attributes at their default are present too. It never
 * carries a case id, a seed, or anything else about the expected answer. */
typedef struct assay_op_desc {
  uint64_t struct_size;
  const char* op;
  uint64_t n_inputs;
  const assay_tensor_desc* const* inputs;
  uint64_t n_outputs;
  const assay_tensor_desc* const* outputs;
  uint64_t n_attrs;
  const assay_attr* const* attrs;
} assay_op_desc;

/* One algorithm that the backend offers, with the arithmetic it declares (the language: harness/check/README.md). */
typedef struct assay_implementation {
  uint64_t struct_size;
  const char* name;     /* lower case letters, digits, '-', '_', '.' */
  const char* contract; /* e.g. "f32acc;ftz=all;det=yes" */
} assay_implementation;

/* Where a tensor of the description lies. */
typedef struct assay_tensor_arg {
  uint64_t struct_size;
  assay_buffer* buffer;
  uint64_t byte_offset; /* of the element with all indices zero */
} assay_tensor_arg;

/* The operands of one execution, in the order of the description. */
typedef struct assay_args {
  uint64_t struct_size;
  const assay_tensor_arg* const* inputs;
  const assay_tensor_arg* const* outputs;
} assay_args;

#define ASSAY_CACHE_WARM 0
#define ASSAY_CACHE_COLD 1

typedef struct assay_timing {
  uint64_t struct_size;
  uint64_t repetitions;
  uint64_t n_sets; /* repetition r uses sets[r % n_sets] */
  const assay_args* const* sets;
  int32_t cache; /* ASSAY_CACHE_*: COLD asks to flush the last-level cache before each repetition */
  int32_t reserved;
  double* seconds;           /* out: one duration per repetition, room for `repetitions` values */
  int32_t clock_is_device;   /* out: 1 when the durations come from the device's own clock */
  int32_t cache_was_flushed; /* out: 1 when COLD was honoured */
} assay_timing;

typedef struct assay_backend_api {
  uint64_t struct_size;
  uint32_t abi_major; /* ASSAY_ABI_MAJOR the plugin was built with */
  uint32_t abi_minor;

  assay_status (*describe)(assay_backend_info* out, assay_text* error);
  /* May return ASSAY_UNAVAILABLE with what is missing (driver, ICD, device). */
  assay_status (*device_count)(uint32_t* out, assay_text* error);
  assay_status (*device_info)(uint32_t index, assay_device_info* out, assay_text* error);
  assay_status (*device_open)(uint32_t index, assay_device** out, assay_text* error);
  void (*device_close)(assay_device* device);

  /* Lists the implementations for `op`: writes up to *count pointers into `out` and sets *count to how many there
   * are. ASSAY_UNSUPPORTED, with the reason, when there are none. The pointed-to structs live until device_close. */
  assay_status (*query)(assay_device* device, const assay_op_desc* op, const assay_implementation** out,
                        uint64_t* count, assay_text* error);

  assay_status (*buffer_alloc)(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error);
  void (*buffer_free)(assay_device* device, assay_buffer* buffer);
  assay_status (*buffer_upload)(assay_device* device, assay_buffer* buffer, uint64_t offset, const void* bytes,
                                uint64_t size, assay_text* error);
  assay_status (*buffer_download)(assay_device* device, const assay_buffer* buffer, uint64_t offset, void* bytes,
                                  uint64_t size, assay_text* error);

  /* Compiles, selects, allocates workspace: everything that is not done per execution. */
  assay_status (*plan_create)(assay_device* device, const assay_op_desc* op, const char* implementation,
                              assay_plan** out, assay_text* error);
  void (*plan_destroy)(assay_plan* plan);
  assay_status (*execute)(assay_plan* plan, const assay_args* args, assay_text* error);
  /* May be NULL: the harness then times execute() by the host's clock. */
  assay_status (*execute_timed)(assay_plan* plan, assay_timing* timing, assay_text* error);
} assay_backend_api;

typedef const assay_backend_api* (*assay_backend_entry)(void);
#define ASSAY_BACKEND_ENTRY "assay_backend_v1"

/* The one exported symbol. */
ASSAY_EXPORT const assay_backend_api* assay_backend_v1(void);

#ifdef __cplusplus
}
#endif
#endif /* ASSAY_BACKEND_H_ */
