/* SPDX-License-Identifier: Apache-2.0
 * A layer of the OpenCL loader for tests (OPENCL_LAYERS): the driver below it, but for the call that
 * ASSAY_TEST_OPENCL_FAULT makes fail, "call" or "call:status", as in "launch:-5": devices (there are none), old (they
 * are of OpenCL 1.1), alloc (buffers have at most "status" bytes), context, build, buffer, launch, finish, event (a
 * command fails after it was taken), or group (a work-group of any kernel has at most "status" items). With
 * ASSAY_TEST_OPENCL_ONCE, a file that the fault creates, only while that does not exist. Into the file
 * ASSAY_TEST_OPENCL_COUNTS it writes, whenever a context is released, which objects are left and how many there were.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cl_icd_dispatch* below;
static cl_icd_dispatch layer;

static cl_int Fault(const char* call) {
  const char *fault = getenv("ASSAY_TEST_OPENCL_FAULT"), *once = getenv("ASSAY_TEST_OPENCL_ONCE");
  const size_t length = strlen(call);
  if (fault == NULL || strncmp(fault, call, length) != 0 || (fault[length] != ':' && fault[length] != 0)) return 0;
  if (once != NULL) {
    const int file = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0) return 0;
    close(file);
  }
  return fault[length] == ':' ? atoi(fault + length + 1) : -1;
}

static cl_int CL_API_CALL DeviceIds(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id* devices,
                                    cl_uint* count) {
  return Fault("devices") ? CL_DEVICE_NOT_FOUND : below->clGetDeviceIDs(platform, type, room, devices, count);
}

static cl_int CL_API_CALL DeviceInfo(cl_device_id device, cl_device_info what, size_t room, void* value, size_t* size) {
  static const char old[] = "OpenCL 1.1 for tests";
  const cl_ulong most = what == CL_DEVICE_MAX_MEM_ALLOC_SIZE ? (cl_ulong)Fault("alloc") : 0;
  if (most != 0) {
    if (value != NULL) memcpy(value, &most, sizeof most);
    if (size != NULL) *size = sizeof most;
    return CL_SUCCESS;
  }
  if (what != CL_DEVICE_VERSION || !Fault("old")) return below->clGetDeviceInfo(device, what, room, value, size);
  if (value != NULL) memcpy(value, old, room < sizeof old ? room : sizeof old);
  if (size != NULL) *size = sizeof old;
  return CL_SUCCESS;
}

static cl_int CL_API_CALL Build(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  const cl_int fault = Fault("build");
  return fault != 0 ? fault : below->clBuildProgram(program, count, devices, options, notify, data);
}

static cl_int CL_API_CALL KernelGroup(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                      size_t room, void* value, size_t* size) {
  const cl_int status = below->clGetKernelWorkGroupInfo(kernel, device, what, room, value, size);
  const size_t most = (size_t)Fault("group");
  if (what == CL_KERNEL_WORK_GROUP_SIZE && most != 0 && value != NULL) memcpy(value, &most, sizeof most);
  return status;
}

static cl_int CL_API_CALL Finish(cl_command_queue queue) {
  const cl_int fault = Fault("finish");
  return fault != 0 ? fault : below->clFinish(queue);
}

static cl_int CL_API_CALL EventInfo(cl_event event, cl_event_info what, size_t room, void* value, size_t* size) {
  const cl_int status = below->clGetEventInfo(event, what, room, value, size);
  const cl_int fault = what == CL_EVENT_COMMAND_EXECUTION_STATUS ? Fault("event") : 0;
  if (fault != 0 && value != NULL) memcpy(value, &fault, sizeof fault);
  return status;
}

/* The objects: how many were made and how many live. Retaining is not counted: the plugin
 * does not. Calls come from one thread per device. */
enum { kContext, kQueue, kProgram, kKernel, kBuffer, kEvent, kKinds };
static const char* const kNames[kKinds] = {"context", "queue", "program", "kernel", "buffer", "event"};
static long made[kKinds], live[kKinds];

static void* Made(int kind, void* object) {
  if (object != NULL) ++made[kind], ++live[kind];
  return object;
}

static void WriteCounts(void) {
  const char* path = getenv("ASSAY_TEST_OPENCL_COUNTS");
  FILE* file = path != NULL ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  for (int kind = 0; kind < kKinds; ++kind) fprintf(file, "%s %ld %ld;", kNames[kind], live[kind], made[kind]);
  fprintf(file, "\n");
  fclose(file);
}

static cl_context CL_API_CALL MakeContext(const cl_context_properties* properties, cl_uint count,
                                          const cl_device_id* devices,
                                          void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                          void* data, cl_int* status) {
  const cl_int fault = Fault("context");
  if (fault != 0) return *status = fault, NULL;
  return Made(kContext, below->clCreateContext(properties, count, devices, notify, data, status));
}
static cl_command_queue CL_API_CALL MakeQueue(cl_context context, cl_device_id device,
                                              cl_command_queue_properties properties, cl_int* status) {
  return Made(kQueue, below->clCreateCommandQueue(context, device, properties, status));
}
static cl_program CL_API_CALL MakeProgram(cl_context context, cl_uint count, const char** texts, const size_t* lengths,
                                          cl_int* status) {
  return Made(kProgram, below->clCreateProgramWithSource(context, count, texts, lengths, status));
}
static cl_kernel CL_API_CALL MakeKernel(cl_program program, const char* name, cl_int* status) {
  return Made(kKernel, below->clCreateKernel(program, name, status));
}
static cl_mem CL_API_CALL MakeBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* status) {
  const cl_int fault = Fault("buffer");
  if (fault != 0) return *status = fault, NULL;
  return Made(kBuffer, below->clCreateBuffer(context, flags, bytes, host, status));
}
static cl_mem CL_API_CALL MakeSubBuffer(cl_mem whole, cl_mem_flags flags, cl_buffer_create_type type,
                                        const void* region, cl_int* status) {
  return Made(kBuffer, below->clCreateSubBuffer(whole, flags, type, region, status));
}
static cl_int CL_API_CALL Launch(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t* offset,
                                 const size_t* global, const size_t* local, cl_uint waits, const cl_event* wait,
                                 cl_event* event) {
  const cl_int fault = Fault("launch");
  if (fault != 0) return fault;
  const cl_int status = below->clEnqueueNDRangeKernel(queue, kernel, axes, offset, global, local, waits, wait, event);
  if (event != NULL && status == CL_SUCCESS) Made(kEvent, *event);
  return status;
}

static cl_int CL_API_CALL DropQueue(cl_command_queue queue) {
  return --live[kQueue], below->clReleaseCommandQueue(queue);
}
static cl_int CL_API_CALL DropProgram(cl_program program) {
  return --live[kProgram], below->clReleaseProgram(program);
}
static cl_int CL_API_CALL DropKernel(cl_kernel kernel) {
  return --live[kKernel], below->clReleaseKernel(kernel);
}
static cl_int CL_API_CALL DropBuffer(cl_mem buffer) {
  return --live[kBuffer], below->clReleaseMemObject(buffer);
}
static cl_int CL_API_CALL DropEvent(cl_event event) {
  return --live[kEvent], below->clReleaseEvent(event);
}
static cl_int CL_API_CALL DropContext(cl_context context) {
  --live[kContext];
  WriteCounts();
  return below->clReleaseContext(context);
}

#define LAYER_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
LAYER_ENTRY clGetLayerInfo(cl_layer_info what, size_t room, void* value, size_t* size) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != NULL && room >= sizeof version) memcpy(value, &version, sizeof version);
  if (size != NULL) *size = sizeof version;
  return CL_SUCCESS;
}

LAYER_ENTRY clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_out,
                        const cl_icd_dispatch** layer_out) {
  const size_t known = sizeof layer / sizeof(void*);
  below = target;
  memcpy(&layer, target, (entries < known ? entries : known) * sizeof(void*));
  layer.clGetDeviceIDs = DeviceIds, layer.clGetDeviceInfo = DeviceInfo;
  layer.clGetKernelWorkGroupInfo = KernelGroup, layer.clBuildProgram = Build, layer.clFinish = Finish,
  layer.clGetEventInfo = EventInfo;
  layer.clCreateContext = MakeContext, layer.clReleaseContext = DropContext;
  layer.clCreateCommandQueue = MakeQueue, layer.clReleaseCommandQueue = DropQueue;
  layer.clCreateProgramWithSource = MakeProgram, layer.clReleaseProgram = DropProgram;
  layer.clCreateKernel = MakeKernel, layer.clReleaseKernel = DropKernel;
  layer.clCreateBuffer = MakeBuffer, layer.clCreateSubBuffer = MakeSubBuffer, layer.clReleaseMemObject = DropBuffer;
  layer.clEnqueueNDRangeKernel = Launch, layer.clReleaseEvent = DropEvent;
  *entries_out = (cl_uint)known, *layer_out = &layer;
  return CL_SUCCESS;
}
