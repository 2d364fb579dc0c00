// SPDX-License-Identifier: Apache-2.0
// Kernels that compute nothing, for tests of what launches them.
#include "backends/gpu/kernels.h"
#include "tests/unit/gpu/fake_runtime/fake_runtime.h"

namespace gpu {

void LaunchTiledMatmul(Tag, TileKind, const MatmulParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchCombineParts(Tag, const MatmulParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchUnitMatmul(Tag, int, const MatmulParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchSequentialReduce(Tag, const ReduceParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchTreeReduce(Tag, const ReduceParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchFinishReduce(Tag, const ReduceParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchSoftmax(Tag, bool, const SoftmaxParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchLines(LineKernel, bool, const LineParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchOperands(OperandKernel, bool, const OperandParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchPoints(bool, const PointParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchAttentionScores(Tag, const AttentionParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchAttentionWeights(Tag, const AttentionParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchAttentionValues(Tag, const AttentionParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchFlashAttention(Tag, const AttentionParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchUnitFlashAttention(Tag, int, const AttentionParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchDirectConv(Tag, const ConvParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchGemmConv(Tag, TileKind, const ConvParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchUnitConv(Tag, int, const ConvParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchFftMove(bool, const FftMoveParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchFftStage(bool, const FftStageParams&, void*) {
  fake_runtime::CountLaunch();
}
void LaunchFftChirp(bool, const FftChirpParams&, void*) {
  fake_runtime::CountLaunch();
}

}  // namespace gpu
