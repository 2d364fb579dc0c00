/* SPDX-License-Identifier: Apache-2.0
 * AMD's runtime for tests: one device whose memory is the host's and whose kernels do nothing. ASSAY_TEST_HIP_ARCH is
 * its architecture, ASSAY_TEST_HIP_FAIL=CALL:CODE the call that fails, ASSAY_TEST_HIP_ONCE a file whose removal by that
 * call lets it fail in no later process. Codes from 700 to 719 stick, as they do on a device that is lost.
 */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static int last, sticky, recording;

static hipError_t Result(int code) {
  if (code != 0) last = code;
  if (code >= 700 && code <= 719) sticky = code;
  return (hipError_t)code;
}

/* Returns the planned failure of a call, if any, before the call does anything. */
static hipError_t Enter(const char* name) {
  if (sticky != 0) return Result(sticky);
  const char* plan = getenv("ASSAY_TEST_HIP_FAIL");
  const size_t length = strlen(name);
  if (plan == NULL || strncmp(plan, name, length) != 0 || plan[length] != ':') return hipSuccess;
  const char* once = getenv("ASSAY_TEST_HIP_ONCE");
  if (once != NULL && unlink(once) != 0) return hipSuccess;
  return Result(atoi(plan + length + 1));
}

static hipError_t Make(const char* name, void** handle) {
  const hipError_t code = Enter(name);
  if (code == hipSuccess) *handle = malloc(1);
  return code;
}

static hipError_t Destroy(void* handle) {
  free(handle);
  return Result(sticky);
}

EXPORTED hipError_t hipDriverGetVersion(int* version) {
  *version = 50200000;
  return Enter("hipDriverGetVersion");
}
EXPORTED hipError_t hipGetDeviceCount(int* count) {
  const char* architecture = getenv("ASSAY_TEST_HIP_ARCH");
  *count = architecture == NULL ? 0 : 1;
  return Enter("hipGetDeviceCount");
}
EXPORTED hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int index) {
  (void)index;
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "test device");
  snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s:sramecc+:xnack-",
           getenv("ASSAY_TEST_HIP_ARCH"));
  properties->totalGlobalMem = (size_t)1 << 30;
  properties->multiProcessorCount = 104;
  properties->warpSize = 64;
  return Enter("hipGetDeviceProperties");
}
EXPORTED const char* hipGetErrorString(hipError_t code) {
  (void)code;
  return "as the test says";
}
EXPORTED hipError_t hipGetLastError(void) {
  const int code = last;
  last = sticky;
  return (hipError_t)code;
}
EXPORTED hipError_t hipSetDevice(int index) {
  (void)index;
  return Enter("hipSetDevice");
}
EXPORTED hipError_t hipMalloc(void** data, size_t bytes) {
  const hipError_t code = Enter("hipMalloc");
  if (code == hipSuccess) *data = malloc(bytes);
  return code;
}
EXPORTED hipError_t hipFree(void* data) {
  return Destroy(data);
}
EXPORTED hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  (void)kind, (void)stream;
  const hipError_t code = Enter("hipMemcpyAsync");
  if (code == hipSuccess) memcpy(to, from, bytes);
  return code;
}
EXPORTED hipError_t hipMemsetAsync(void* to, int byte, size_t bytes, hipStream_t stream) {
  (void)stream;
  const hipError_t code = Enter("hipMemsetAsync");
  if (code == hipSuccess) memset(to, byte, bytes);
  return code;
}
EXPORTED hipError_t hipStreamCreate(hipStream_t* stream) {
  return Make("hipStreamCreate", (void**)stream);
}
EXPORTED hipError_t hipStreamDestroy(hipStream_t stream) {
  return Destroy(stream);
}
EXPORTED hipError_t hipStreamSynchronize(hipStream_t stream) {
  (void)stream;
  return recording ? Result(hipErrorStreamCaptureUnsupported) : Enter("hipStreamSynchronize");
}
EXPORTED hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  (void)stream, (void)mode;
  const hipError_t code = Enter("hipStreamBeginCapture");
  recording = code == hipSuccess;
  return code;
}
EXPORTED hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  (void)stream;
  recording = 0;
  return Make("hipStreamEndCapture", (void**)graph);
}
EXPORTED hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* node, char* log,
                                        size_t log_bytes) {
  (void)graph, (void)node, (void)log, (void)log_bytes;
  return Make("hipGraphInstantiate", (void**)executable);
}
EXPORTED hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  (void)executable, (void)stream;
  return Enter("hipGraphLaunch");
}
EXPORTED hipError_t hipGraphDestroy(hipGraph_t graph) {
  return Destroy(graph);
}
EXPORTED hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return Destroy(executable);
}
EXPORTED hipError_t hipEventCreate(hipEvent_t* event) {
  return Make("hipEventCreate", (void**)event);
}
EXPORTED hipError_t hipEventDestroy(hipEvent_t event) {
  return Destroy(event);
}
EXPORTED hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  (void)event, (void)stream;
  return Enter("hipEventRecord");
}
EXPORTED hipError_t hipEventSynchronize(hipEvent_t event) {
  (void)event;
  return Enter("hipEventSynchronize");
}
EXPORTED hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  (void)start, (void)stop;
  *milliseconds = 1;
  return Enter("hipEventElapsedTime");
}

/* Functions that hipcc's code for the host calls. */
EXPORTED void** __hipRegisterFatBinary(const void* data) {
  (void)data;
  static void* module;
  return &module;
}
EXPORTED void __hipUnregisterFatBinary(void** modules) {
  (void)modules;
}
EXPORTED void __hipRegisterFunction(void** modules, const void* host, char* name, const char* device_name,
                                    unsigned threads, void* thread, void* block, void* block_dim, void* grid_dim,
                                    int* warp_size) {
  (void)modules, (void)host, (void)name, (void)device_name, (void)threads, (void)thread, (void)block, (void)block_dim;
  (void)grid_dim, (void)warp_size;
}
EXPORTED hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
  (void)grid, (void)block, (void)shared, (void)stream;
  return hipSuccess;
}
EXPORTED hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t* stream) {
  (void)grid, (void)block;
  *shared = 0, *stream = NULL;
  return hipSuccess;
}
EXPORTED hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args, size_t shared,
                                    hipStream_t stream) {
  (void)kernel, (void)grid, (void)block, (void)args, (void)shared, (void)stream;
  return Enter("hipLaunchKernel");
}
