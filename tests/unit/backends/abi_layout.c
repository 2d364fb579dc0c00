/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of ABI 1.0, frozen: what lies where in each struct, on every platform with 64-bit pointers. A later minor
 * version adds members behind these; the sizes then grow, and what stands here stays. Compiled as C11 and as C++, with
 * -pedantic and every warning an error, by the tests abi_header.c11 and abi_header.c++17.
 */
#include "backends/abi/assay_backend.h"

#ifdef __cplusplus
#define FROZEN(condition) static_assert(condition, "the layout of ABI 1.0 is frozen: " #condition)
#else
#define FROZEN(condition) _Static_assert(condition, "the layout of ABI 1.0 is frozen: " #condition)
#endif
#define LIES(type, member, at) FROZEN(offsetof(type, member) == (at))
/* In 1.0; a later version may be longer. */
#define HOLDS(type, bytes) FROZEN(sizeof(type) >= (bytes) && (ASSAY_ABI_MINOR > 0u || sizeof(type) == (bytes)))

FROZEN(ASSAY_ABI_MAJOR == 1u);
FROZEN(sizeof(void*) == 8);

HOLDS(assay_host_info, 48);
LIES(assay_host_info, struct_size, 0);
LIES(assay_host_info, abi_major, 8);
LIES(assay_host_info, abi_minor, 12);
LIES(assay_host_info, name, 16);
LIES(assay_host_info, version, 24);
LIES(assay_host_info, log, 32);
LIES(assay_host_info, log_context, 40);

HOLDS(assay_text, 24);
LIES(assay_text, struct_size, 0);
LIES(assay_text, data, 8);
LIES(assay_text, capacity, 16);

HOLDS(assay_backend_info, 40);
LIES(assay_backend_info, struct_size, 0);
LIES(assay_backend_info, name, 8);
LIES(assay_backend_info, vendor, 16);
LIES(assay_backend_info, version, 24);
LIES(assay_backend_info, library_version, 32);

HOLDS(assay_device_info, 56);
LIES(assay_device_info, struct_size, 0);
LIES(assay_device_info, name, 8);
LIES(assay_device_info, driver, 16);
LIES(assay_device_info, device_type, 24);
LIES(assay_device_info, device_id, 28);
LIES(assay_device_info, memory_bytes, 32);
LIES(assay_device_info, properties, 40);
LIES(assay_device_info, buffer_alignment, 48);

HOLDS(assay_attr, 80);
LIES(assay_attr, struct_size, 0);
LIES(assay_attr, key, 8);
LIES(assay_attr, type, 16);
LIES(assay_attr, flags, 20);
LIES(assay_attr, i, 24);
LIES(assay_attr, f, 32);
LIES(assay_attr, s, 40);
LIES(assay_attr, ints, 48);
LIES(assay_attr, floats, 56);
LIES(assay_attr, count, 64);
LIES(assay_attr, type_code, 72);
LIES(assay_attr, bits, 73);
LIES(assay_attr, reserved, 74);

HOLDS(assay_tensor_desc, 48);
LIES(assay_tensor_desc, struct_size, 0);
LIES(assay_tensor_desc, name, 8);
LIES(assay_tensor_desc, type_code, 16);
LIES(assay_tensor_desc, bits, 17);
LIES(assay_tensor_desc, reserved, 18);
LIES(assay_tensor_desc, ndim, 20);
LIES(assay_tensor_desc, shape, 24);
LIES(assay_tensor_desc, strides, 32);
LIES(assay_tensor_desc, alias, 40);
LIES(assay_tensor_desc, flags, 44);

HOLDS(assay_op_desc, 72);
LIES(assay_op_desc, struct_size, 0);
LIES(assay_op_desc, op, 8);
LIES(assay_op_desc, n_inputs, 16);
LIES(assay_op_desc, inputs, 24);
LIES(assay_op_desc, n_outputs, 32);
LIES(assay_op_desc, outputs, 40);
LIES(assay_op_desc, n_attrs, 48);
LIES(assay_op_desc, attrs, 56);
LIES(assay_op_desc, flags, 64);

HOLDS(assay_implementation, 24);
LIES(assay_implementation, struct_size, 0);
LIES(assay_implementation, name, 8);
LIES(assay_implementation, contract, 16);

HOLDS(assay_implementations, 24);
LIES(assay_implementations, struct_size, 0);
LIES(assay_implementations, count, 8);
LIES(assay_implementations, items, 16);

HOLDS(assay_capability, 32);
LIES(assay_capability, struct_size, 0);
LIES(assay_capability, op, 8);
LIES(assay_capability, type_code, 16);
LIES(assay_capability, bits, 17);
LIES(assay_capability, reserved, 18);
LIES(assay_capability, features, 24);

HOLDS(assay_capabilities, 24);
LIES(assay_capabilities, struct_size, 0);
LIES(assay_capabilities, count, 8);
LIES(assay_capabilities, items, 16);

HOLDS(assay_plan_info, 32);
LIES(assay_plan_info, struct_size, 0);
LIES(assay_plan_info, workspace_bytes, 8);
LIES(assay_plan_info, algorithm, 16);
LIES(assay_plan_info, kernel, 24);

HOLDS(assay_tensor_arg, 24);
LIES(assay_tensor_arg, struct_size, 0);
LIES(assay_tensor_arg, buffer, 8);
LIES(assay_tensor_arg, byte_offset, 16);

HOLDS(assay_args, 48);
LIES(assay_args, struct_size, 0);
LIES(assay_args, n_inputs, 8);
LIES(assay_args, inputs, 16);
LIES(assay_args, n_outputs, 24);
LIES(assay_args, outputs, 32);
LIES(assay_args, flags, 40);

HOLDS(assay_batch, 48);
LIES(assay_batch, struct_size, 0);
LIES(assay_batch, count, 8);
LIES(assay_batch, args, 16);
LIES(assay_batch, cache, 24);
LIES(assay_batch, reserved, 28);
LIES(assay_batch, seconds, 32);
LIES(assay_batch, clock_is_device, 40);
LIES(assay_batch, cache_was_flushed, 44);

HOLDS(assay_backend_api, 152);
LIES(assay_backend_api, struct_size, 0);
LIES(assay_backend_api, abi_major, 8);
LIES(assay_backend_api, abi_minor, 12);
LIES(assay_backend_api, describe, 16);
LIES(assay_backend_api, device_count, 24);
LIES(assay_backend_api, device_info, 32);
LIES(assay_backend_api, device_open, 40);
LIES(assay_backend_api, device_close, 48);
LIES(assay_backend_api, query, 56);
LIES(assay_backend_api, query_free, 64);
LIES(assay_backend_api, buffer_alloc, 72);
LIES(assay_backend_api, buffer_free, 80);
LIES(assay_backend_api, buffer_upload, 88);
LIES(assay_backend_api, buffer_download, 96);
LIES(assay_backend_api, plan_create, 104);
LIES(assay_backend_api, plan_destroy, 112);
LIES(assay_backend_api, execute, 120);
LIES(assay_backend_api, execute_batch, 128);
LIES(assay_backend_api, plan_info, 136);
LIES(assay_backend_api, capabilities, 144);

/* The helpers expand in both languages. */
assay_status fail_as_unsupported(assay_text* error);
assay_status fail_as_unsupported(assay_text* error) {
  return assay_fail(error, ASSAY_UNSUPPORTED, "nothing is offered");
}
void describe_alignment(assay_device_info* out);
void describe_alignment(assay_device_info* out) {
  ASSAY_SET(out, buffer_alignment, 64u);
}
