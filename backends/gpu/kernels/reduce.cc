// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/reduce.h"

#include "backends/gpu/device/reduce_arg.h"
#include "backends/gpu/device/softmax.h"
#include "backends/gpu/kernels.h"
#include "backends/gpu/kernels/dispatch.h"

namespace gpu {
namespace {

bool IsArg(const ReduceParams& p) {
  return p.fold == Fold::kArgMax || p.fold == Fold::kArgMin;
}

}  // namespace

void LaunchSequentialReduce(Tag x, const ReduceParams& p, void* stream) {
  const int64_t blocks = CeilDiv(p.outputs, kReduceThreads);
  ForFloatOrInt8(x, [&](auto type) {
    using T = decltype(type);
    Launch(IsArg(p) ? SequentialArg<T> : SequentialReduce<T>, blocks, kReduceThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchTreeReduce(Tag x, const ReduceParams& p, void* stream) {
  ForFloatOrInt8(x, [&](auto type) {
    using T = decltype(type);
    Launch(IsArg(p) ? TreeArg<T> : TreeReduce<T>, p.outputs * p.parts, kReduceThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchFinishReduce(Tag x, const ReduceParams& p, void* stream) {
  const int64_t blocks = CeilDiv(p.outputs, kReduceThreads);
  ForFloatOrInt8(x, [&](auto type) {
    Launch(FinishReduce<decltype(type)>, blocks, kReduceThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchSoftmax(Tag x, bool online, const SoftmaxParams& p, void* stream) {
  ForFloat(x, [&](auto type) {
    using T = decltype(type);
    Launch(online ? OnlineSoftmax<T> : ThreePassSoftmax<T>, p.rows, kReduceThreads, static_cast<Stream>(stream), p);
  });
}

}  // namespace gpu
