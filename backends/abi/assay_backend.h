/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin ABI of assay: what a backend (CUDA, oneDNN, a vendor's own) exports so that the harness can run
 * operators on its devices. Plain C11. A plugin exports one symbol, assay_backend_v1, and hides the rest.
 *
 * Rules
 *  - struct_size is the first member of every struct and is set by whoever allocates the struct. Structs only grow
 *    at their end; a callee reads or writes a member only where ASSAY_HAS says that the caller knows it. Arrays of
 *    structs are arrays of pointers, so that growth never moves an element. What is called reserved, and flags that
 *    this header does not name, are zero: a callee refuses others. A member appended later that
 *    changes what is asked comes with such a flag, or with a reserved member that is not zero.
 *  - Fixed-width integers; no enum, bool or bit-field crosses.
 *  - Strings are UTF-8 and NUL-terminated. Those that a plugin returns live as long as its library.
 *  - No ownership crosses but through the create/destroy, open/close and query/query_free pairs below. Error text goes
 *    into a buffer of the caller, truncated to fit and always terminated.
 *  - assay_backend_v1() touches no device. All calls for one device come from one thread. An execution returns once
 *    its outputs are complete and visible to buffer_download().
 *  - What a description asks for and a plugin does not know, it refuses with ASSAY_UNSUPPORTED in query(): an operator,
 *    a type, a number of outputs, an attribute that is not flagged ASSAY_ATTR_OPTIONAL, an alias, flags.
 *    So do execute() and execute_batch() with flags of their own.
 *  - When a call returns, its thread rounds, flushes subnormal numbers and traps as before.
 *  - The harness owns whole allocations on the device (alloc/upload/download/free). A tensor argument is a view into
 *    one: a byte offset, and the shape and strides of its description. Guards lie around it: touch nothing outside.
 *    A range of upload or download that reaches outside of its allocation is refused with an error.
 *  - Inputs change between executions, also in parts (buffer_upload of a range), and outputs are overwritten. Nothing
 *    tells an execution whose output is judged from one whose time is recorded: all come through the same function.
 *  - The functions that close, free or destroy do nothing with NULL. The harness destroys each object once: plans
 *    first, then buffers, then the device.
 *  - Return values: ASSAY_OK; ASSAY_UNSUPPORTED (this backend does not offer it; the text says why; an error once
 *    query() has offered it); ASSAY_UNAVAILABLE (no usable device; the text says why and what to install); any other
 *    value is an error of the backend and becomes the verdict of the case.
 *
 * Quantised tensors carry integers, and their scales and zero points are operands of their own, named after the tensor:
 * "<name>_scale" (floating point or e8m0) and "<name>_zero_point" (integer), real = (stored - zero_point) * scale. The
 * attributes "<name>_axis" (int) and "<name>_block" (int) say for what each scale holds: axis -1 and block 0 for the
 * whole tensor; axis a and block 0 for one index of axis a; block b for b consecutive elements along axis a (the scale
 * tensor then has extent ceil(extent / b) there).
 *
 * Types narrower than a byte (fp6, fp4) are packed along the last axis without gaps: element i of a row takes the bits
 * [i * bits, (i + 1) * bits) of it, counted from the least significant bit of its first byte. The stride of the last
 * axis is 1, and every other stride times bits is a multiple of 8, so that each row begins at a whole byte.
 */
#ifndef ASSAY_BACKEND_H_
#define ASSAY_BACKEND_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* DLPack type codes (DLDataTypeCode), written as numbers because older dlpack.h lack the narrow ones. */
#define ASSAY_TYPE_INT 0u
#define ASSAY_TYPE_UINT 1u
#define ASSAY_TYPE_FLOAT 2u
#define ASSAY_TYPE_BFLOAT 4u
#define ASSAY_TYPE_COMPLEX 5u
#define ASSAY_TYPE_BOOL 6u /* 8 bits, 0 or 1 */
#define ASSAY_TYPE_FLOAT8_E3M4 7u
#define ASSAY_TYPE_FLOAT8_E4M3 8u
#define ASSAY_TYPE_FLOAT8_E4M3B11FNUZ 9u
#define ASSAY_TYPE_FLOAT8_E4M3FN 10u
#define ASSAY_TYPE_FLOAT8_E4M3FNUZ 11u
#define ASSAY_TYPE_FLOAT8_E5M2 12u
#define ASSAY_TYPE_FLOAT8_E5M2FNUZ 13u
#define ASSAY_TYPE_FLOAT8_E8M0FNU 14u /* a power of two: scales of the OCP microscaling formats */
#define ASSAY_TYPE_FLOAT6_E2M3FN 15u
#define ASSAY_TYPE_FLOAT6_E3M2FN 16u
#define ASSAY_TYPE_FLOAT4_E2M1FN 17u

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

#define ASSAY_LOG_DEBUG 0
#define ASSAY_LOG_INFO 1
#define ASSAY_LOG_WARNING 2
#define ASSAY_LOG_ERROR 3

/* Who loads the plugin. Lives as long as the process. */
typedef struct assay_host_info {
  uint64_t struct_size;
  uint32_t abi_major; /* what the host speaks; a plugin may return NULL where it cannot serve that, after logging why */
  uint32_t abi_minor;
  const char* name;    /* "assay" */
  const char* version; /* of the program */
  /* From any thread. Never NULL. What is logged appears with the backend's failures. */
  void (*log)(void* log_context, int32_t level, const char* text);
  void* log_context;
} assay_host_info;

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
  const char* name;            /* in reports and of --backend: lower case letters, digits, '-', '_' */
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
  uint64_t buffer_alignment; /* bytes: what the first byte of an allocation is aligned to; 0: not stated */
} assay_device_info;

#define ASSAY_ATTR_INT 0
#define ASSAY_ATTR_FLOAT 1
#define ASSAY_ATTR_STRING 2
#define ASSAY_ATTR_INT_LIST 3
#define ASSAY_ATTR_BOOL 4
#define ASSAY_ATTR_TYPE 5
#define ASSAY_ATTR_FLOAT_LIST 6

#define ASSAY_ATTR_OPTIONAL 1u /* flag: whoever does not know the key may leave it out of account */

typedef struct assay_attr {
  uint64_t struct_size;
  const char* key;
  int32_t type;   /* ASSAY_ATTR_*: which of the values below counts */
  uint32_t flags; /* ASSAY_ATTR_OPTIONAL */
  int64_t i;      /* INT, BOOL (0 or 1) */
  double f;
  const char* s;
  const int64_t* ints;  /* INT_LIST, `count` of them */
  const double* floats; /* FLOAT_LIST, `count` of them */
  uint64_t count;
  uint8_t type_code; /* TYPE */
  uint8_t bits;
  uint16_t reserved[3];
} assay_attr;

typedef struct assay_tensor_desc {
  uint64_t struct_size;
  const char* name; /* the operand's name in the operator's definition: "a", "bias", "y" */
  uint8_t type_code;
  uint8_t bits;
  uint16_t reserved;
  int32_t ndim;
  const int64_t* shape;
  const int64_t* strides; /* in elements, any order of axes (NHWC is a permutation of them); never NULL */
  uint32_t alias;         /* of an output: 0 has memory of its own; k > 0 is in place, in that of input k - 1 */
  uint32_t flags;         /* 0: none is named yet */
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
  uint64_t flags; /* 0: none is named yet */
} assay_op_desc;

/* Returns why a description asks for more than strided tensors in separate memory with these `keys` (a
 * reason for ASSAY_UNSUPPORTED), or NULL if it does not. */
static inline const char* assay_asks_for_more(const assay_op_desc* op, const char* const* keys, uint64_t n_keys) {
  if (op->flags != 0) return "the description uses a flag that is not known";
  for (uint64_t i = 0; i < op->n_inputs + op->n_outputs; ++i) {
    const assay_tensor_desc* t = i < op->n_inputs ? op->inputs[i] : op->outputs[i - op->n_inputs];
    if (t->alias != 0) return "nothing is offered in place";
    if (t->flags != 0 || t->reserved != 0) return "a tensor uses a flag or a member that is not known";
  }
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    uint64_t k = 0;
    while (k < n_keys && strcmp(attr->key, keys[k]) != 0) ++k;
    if ((attr->flags & ~ASSAY_ATTR_OPTIONAL) != 0 || attr->reserved[0] != 0 || attr->reserved[1] != 0 ||
        attr->reserved[2] != 0) {
      return "an attribute uses a flag or a member that is not known";
    }
    if (k == n_keys && (attr->flags & ASSAY_ATTR_OPTIONAL) == 0) return "an attribute is not known";
  }
  return NULL;
}

/* One algorithm that the backend offers, with the arithmetic it declares (the language: harness/tools/check/README.md).
 */
typedef struct assay_implementation {
  uint64_t struct_size;
  const char* name;     /* lower case letters, digits, '-', '_', '.' */
  const char* contract; /* e.g. "f32acc;ftz=all;det=yes" */
} assay_implementation;

/* Result of query(). It and all that it points to live until query_free(), which comes before device_close(). */
typedef struct assay_implementations {
  uint64_t struct_size;
  uint64_t count;
  const assay_implementation* const* items;
} assay_implementations;

/* One capability of a device, declared so that a host need not try it out. */
typedef struct assay_capability {
  uint64_t struct_size;
  const char* op;
  uint8_t type_code; /* of the first operand */
  uint8_t bits;
  uint16_t reserved[3];
  /* "key;key": strides (any), permuted (axes in any order, dense), in_place. "" for dense tensors alone. Lines of files
   * of kernels have no type (code and bits 0), and "implementation=NAME". */
  const char* features;
} assay_capability;

/* Lives as long as the library. */
typedef struct assay_capabilities {
  uint64_t struct_size;
  uint64_t count;
  const assay_capability* const* items;
} assay_capabilities;

/* Facts about a prepared plan. Strings live as long as the plan. */
typedef struct assay_plan_info {
  uint64_t struct_size;
  uint64_t workspace_bytes; /* on the device, beside the operands */
  const char* algorithm;    /* in the words of the library that computes, "CUDNN_CONVOLUTION_FWD_ALGO_GEMM"; "" */
  const char* kernel;       /* what runs on the device, as a profiler shows it; several joined by ','; "" */
} assay_plan_info;

/* Where a tensor of the description lies. */
typedef struct assay_tensor_arg {
  uint64_t struct_size;
  assay_buffer* buffer;
  uint64_t byte_offset; /* of the element with all indices zero */
} assay_tensor_arg;

/* The operands of one execution, in the order of the description. */
typedef struct assay_args {
  uint64_t struct_size;
  uint64_t n_inputs;
  const assay_tensor_arg* const* inputs;
  uint64_t n_outputs;
  const assay_tensor_arg* const* outputs;
  uint64_t flags; /* 0: none is named yet. Also announces what may be appended to assay_tensor_arg */
} assay_args;

#define ASSAY_CACHE_WARM 0
#define ASSAY_CACHE_COLD 1

/* Executions that follow each other, with one duration each. The host draws their number and order, and takes them from
 * several sets of operands whose contents it changes between calls. */
typedef struct assay_batch {
  uint64_t struct_size;
  uint64_t count;
  const assay_args* const* args; /* of each execution; no two of a batch write to the same buffer */
  int32_t cache;                 /* ASSAY_CACHE_*: COLD asks to flush the last-level cache before each execution */
  int32_t reserved;
  double* seconds;           /* out: one duration per execution, room for `count` values */
  int32_t clock_is_device;   /* out: 1 when the durations come from the device's own clock */
  int32_t cache_was_flushed; /* out: 1 when COLD was honoured */
} assay_batch;

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

  /* Lists the implementations for `op`. ASSAY_UNSUPPORTED, with the reason, when there are none. */
  assay_status (*query)(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                        assay_text* error);
  void (*query_free)(assay_device* device, const assay_implementations* found);

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

  /* The following may be NULL, but lie within struct_size: a shorter table is older than ABI 1.0. */

  /* All executions of the harness come through this where it is there; else through execute(), timed by the host. */
  assay_status (*execute_batch)(assay_plan* plan, assay_batch* batch, assay_text* error);
  assay_status (*plan_info)(const assay_plan* plan, assay_plan_info* out, assay_text* error);
  assay_status (*capabilities)(assay_device* device, const assay_capabilities** out, assay_text* error);
} assay_backend_api;

typedef const assay_backend_api* (*assay_backend_entry)(const assay_host_info* host);
#define ASSAY_BACKEND_ENTRY "assay_backend_v1"

/* The one exported symbol. NULL: this host cannot be served. */
ASSAY_EXPORT const assay_backend_api* assay_backend_v1(const assay_host_info* host);

#ifdef __cplusplus
}
#endif
#endif /* ASSAY_BACKEND_H_ */
