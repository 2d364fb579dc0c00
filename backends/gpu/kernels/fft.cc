// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/fft.h"

#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

template <class Params>
void LaunchEither(void (*wide)(Params), void (*narrow)(Params), bool is_wide, const Params& p, void* stream) {
  Launch(is_wide ? wide : narrow, CeilDiv(p.count, kFftThreads), kFftThreads, static_cast<Stream>(stream), p);
}

template <int kRadix>
void LaunchRadix(bool wide, const FftStageParams& p, void* stream) {
  LaunchEither(FftStage<double, kRadix>, FftStage<float, kRadix>, wide, p, stream);
}

}  // namespace

void LaunchFftMove(bool wide, const FftMoveParams& p, void* stream) {
  LaunchEither(FftMove<double>, FftMove<float>, wide, p, stream);
}

void LaunchFftStage(bool wide, const FftStageParams& p, void* stream) {
  if (p.radix == 2) return LaunchRadix<2>(wide, p, stream);
  if (p.radix == 4) return LaunchRadix<4>(wide, p, stream);
  if (p.radix == 8) return LaunchRadix<8>(wide, p, stream);
  if (p.radix == 16) return LaunchRadix<16>(wide, p, stream);
  LaunchEither(FftOddStage<double>, FftOddStage<float>, wide, p, stream);
}

void LaunchFftChirp(bool wide, const FftChirpParams& p, void* stream) {
  LaunchEither(FftChirp<double>, FftChirp<float>, wide, p, stream);
}

void LaunchScale(bool wide, void* data, int64_t count, double factor, void* stream) {
  LaunchEither(Scale<double>, Scale<float>, wide, ScaleParams{data, count, factor}, stream);
}

}  // namespace gpu
