/* SPDX-License-Identifier: Apache-2.0
 * Alterations of altered_plugin.c in what the plugin says: of itself and its errors, and when it is asked. */
#pragma once

/* ---- what it says about itself ---- */

static assay_status bad_name(assay_backend_info* out, assay_text* error) {
  const assay_status status = describe(out, error);
  ASSAY_SET(out, name, "Vendor Inc.");
  return status;
}
static assay_status null_driver(uint32_t index, assay_device_info* out, assay_text* error) {
  const assay_status status = device_info(index, out, error);
  ASSAY_SET(out, driver, NULL);
  return status;
}
static assay_status any_index(uint32_t index, assay_device_info* out, assay_text* error) {
  return device_info(0, out, error);
}
static assay_status ignores_struct_size(assay_backend_info* out, assay_text* error) {
  out->name = "vendor", out->vendor = out->version = out->library_version = "";
  return ASSAY_OK;
}
static assay_status clears_struct(uint32_t index, assay_device_info* out, assay_text* error) {
  memset((char*)out + sizeof out->struct_size, 0, out->struct_size - sizeof out->struct_size);
  return device_info(index, out, error);
}

/* ---- error texts ---- */

static assay_status silent(uint32_t index, assay_device** out, assay_text* error) {
  return device_open(index, out, NULL);
}
static assay_status needs_text(uint32_t index, assay_device** out, assay_text* error) {
  if (index > 0) *(volatile uint64_t*)&error->capacity;
  return device_open(index, out, error);
}
static assay_status terminates_nothing(uint32_t index, assay_device** out, assay_text* error) {
  if (index > 0 && error != NULL && ASSAY_HAS(error, capacity) && error->data != NULL) error->data[0] = '\0';
  return device_open(index, out, error);
}
static assay_status overruns_text(uint32_t index, assay_device** out, assay_text* error) {
  if (index > 0 && error != NULL && ASSAY_HAS(error, capacity) && error->capacity > 0) strcpy(error->data, "no device");
  return index > 0 ? ASSAY_ERROR : device_open(index, out, error);
}
static assay_status cuts_without_end(uint32_t index, assay_device** out, assay_text* error) {
  if (index > 0 && error != NULL && ASSAY_HAS(error, capacity) && error->capacity > 0) {
    strncpy(error->data, "there is no such device", error->capacity);
  }
  return index > 0 ? ASSAY_ERROR : device_open(index, out, error);
}

/* ---- opening and closing ---- */

static assay_status opens_once(uint32_t index, assay_device** out, assay_text* error) {
  static int opened;
  if (index == 0 && opened++ > 0) return assay_fail(error, ASSAY_ERROR, "it is open already");
  return device_open(index, out, error);
}
static int used;
static assay_status use(assay_plan* plan, const assay_args* args, assay_text* error) {
  used = 1;
  return execute(plan, args, error);
}
static assay_status opens_while_unused(uint32_t index, assay_device** out, assay_text* error) {
  return used ? assay_fail(error, ASSAY_ERROR, "the device is used up") : device_open(index, out, error);
}
static assay_status leaks_heap(uint32_t index, assay_device** out, assay_text* error) {
  char* volatile lost = malloc(24);
  lost[0] = 1;
  return device_open(index, out, error);
}
static assay_status leaks_pages(uint32_t index, assay_device** out, assay_text* error) {
  const size_t bytes = 1 << 18;
  memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, bytes);
  return device_open(index, out, error);
}
static assay_status leaks_files(uint32_t index, assay_device** out, assay_text* error) {
  if (open("/dev/null", O_RDONLY) < 0) return assay_fail(error, ASSAY_ERROR, "no file descriptor is left");
  return device_open(index, out, error);
}

/* ---- queries ---- */

static assay_status declines_as_error(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                      assay_text* error) {
  const assay_status status = query(device, op, out, error);
  return status == ASSAY_UNSUPPORTED ? ASSAY_ERROR : status;
}
static assay_status any_type(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                             assay_text* error) {
  const int is_unknown = op->n_outputs > 0 && op->outputs[0]->type_code > 100;
  if (!is_unknown) return query(device, op, out, error);
  *out = &offered;
  return ASSAY_OK;
}
/* Takes any attribute, and computes something else than was asked for. */
static assay_status any_attribute(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                  assay_text* error) {
  assay_op_desc without = *op;
  if (op->n_attrs > 0 && strstr(op->attrs[op->n_attrs - 1]->key, "unknown") != NULL) --without.n_attrs;
  return query(device, &without, out, error);
}
/* Computes the first output, and says nothing of the others. */
static assay_status any_outputs(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                assay_text* error) {
  assay_op_desc first = *op;
  if (op->n_outputs > 1) first.n_outputs = 1;
  return query(device, &first, out, error);
}
static assay_status known_attributes(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                     assay_text* error) {
  for (uint64_t i = 0; i < op->n_attrs; ++i) {
    const assay_attr* attr = op->attrs[i];
    const int is_unknown = strstr(attr->key, "unknown") != NULL;
    if (is_unknown) return assay_fail(error, ASSAY_UNSUPPORTED, "what is this attribute?");
  }
  return query(device, op, out, error);
}
static assay_status exact_size(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                               assay_text* error) {
  if (op->struct_size != sizeof *op) return assay_fail(error, ASSAY_ERROR, "the description has the wrong size");
  return query(device, op, out, error);
}
/* The last list is overwritten, and gone with query_free. */
static assay_implementation the_item;
static const assay_implementation* the_items[] = {&the_item};
static assay_implementations the_list = {sizeof the_list, 1, the_items};
static assay_status shares_list(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                assay_text* error) {
  const assay_status status = query(device, op, out, error);
  the_item = loops;
  if (status == ASSAY_OK) *out = &the_list;
  return status;
}
static void forgets_list(assay_device* device, const assay_implementations* found) {
  if (found == &the_list) the_item.name = "freed";
}
static assay_status no_list(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                            assay_text* error) {
  const assay_status status = query(device, op, out, error);
  *out = NULL;
  return status;
}
static assay_status lists_twice(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                assay_text* error) {
  static const assay_implementation* const both[] = {&loops, &loops};
  static const assay_implementations twice = {sizeof twice, 2, both};
  const assay_status status = query(device, op, out, error);
  if (status == ASSAY_OK) *out = &twice;
  return status;
}
static assay_status bad_contract(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                                 assay_text* error) {
  static const assay_implementation sloppy = {sizeof sloppy, "loops", "acc=whatever"};
  static const assay_implementation* const item[] = {&sloppy};
  static const assay_implementations list = {sizeof list, 1, item};
  const assay_status status = query(device, op, out, error);
  if (status == ASSAY_OK) *out = &list;
  return status;
}

#include "tests/integration/altered_optional.h"
