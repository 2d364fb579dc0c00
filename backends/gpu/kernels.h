// SPDX-License-Identifier: Apache-2.0
// The kernels as the host calls them: each function puts one launch into a stream of the vendor's runtime. What went
// wrong is that runtime's last error. Tags are the type of the operands that inner loops read.
#pragma once

#include "backends/gpu/device/attention_params.h"
#include "backends/gpu/device/conv_params.h"
#include "backends/gpu/device/elementwise_params.h"
#include "backends/gpu/device/fft_params.h"
#include "backends/gpu/device/line_params.h"
#include "backends/gpu/device/matmul_params.h"
#include "backends/gpu/device/operand_params.h"
#include "backends/gpu/device/reduce_params.h"

namespace gpu {

enum class TileKind { kLarge, kMedium, kSkinny };  // LargeTile, MediumTile and SkinnyTile

// More blocks than these cannot be launched, whatever their size.
inline constexpr int64_t kMostBlocks = 0x7FFFFFFF;

void LaunchTiledMatmul(Tag operands, TileKind tile, const MatmulParams& params, void* stream);
void LaunchCombineParts(Tag operands, const MatmulParams& params, void* stream);
// f16 and bf16; `threads` of a block. B lies in shared memory as params.b_along_k says.
void LaunchUnitMatmul(Tag operands, int threads, const MatmulParams& params, void* stream);

void LaunchSequentialReduce(Tag x, const ReduceParams& params, void* stream);  // argmax and argmin too
void LaunchTreeReduce(Tag x, const ReduceParams& params, void* stream);        // likewise, in one part
void LaunchFinishReduce(Tag x, const ReduceParams& params, void* stream);

void LaunchSoftmax(Tag x, bool online, const SoftmaxParams& params, void* stream);

void LaunchLines(LineKernel kernel, bool wide, const LineParams& params, void* stream);

void LaunchOperands(OperandKernel kernel, bool wide, const OperandParams& params, void* stream);

void LaunchPoints(bool wide, const PointParams& params, void* stream);

void LaunchAttentionScores(Tag q, const AttentionParams& params, void* stream);
void LaunchAttentionWeights(Tag q, const AttentionParams& params, void* stream);
void LaunchAttentionValues(Tag q, const AttentionParams& params, void* stream);
void LaunchFlashAttention(Tag q, const AttentionParams& params, void* stream);
void LaunchUnitFlashAttention(Tag q, int threads, const AttentionParams& params, void* stream);  // d and dv up to 128

void LaunchDirectConv(Tag x, const ConvParams& params, void* stream);
void LaunchGemmConv(Tag x, TileKind tile, const ConvParams& params, void* stream);
void LaunchUnitConv(Tag x, int threads, const ConvParams& params, void* stream);

void LaunchFftMove(bool wide, const FftMoveParams& params, void* stream);
void LaunchFftStage(bool wide, const FftStageParams& params, void* stream);
void LaunchFftChirp(bool wide, const FftChirpParams& params, void* stream);

// data[i] *= factor, of f64 or f32.
void LaunchScale(bool wide, void* data, int64_t count, double factor, void* stream);

}  // namespace gpu
