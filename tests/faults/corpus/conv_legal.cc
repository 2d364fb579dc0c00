// SPDX-License-Identifier: Apache-2.0
// Correct convolutions: direct and by matrix products of patches, in several orders and accumulators.
#include <algorithm>

#include "tests/faults/corpus/conv_kernel.h"
#include "tests/faults/corpus/orders.h"

namespace corpus {
namespace conv_legal {

using plugin::BF16;
using plugin::F16;

template <class T>
T FmaDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

// One accumulator, the terms shuffled.
template <class T>
T ShuffledDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i : OrderOf<Shuffled>(n)) sum = std::fma(a[i], b[i], sum);
  return sum;
}

template <class T>
T PairwiseDot(const T* a, const T* b, int64_t n) {
  if (n <= 1) return n == 0 ? T{0} : a[0] * b[0];
  return PairwiseDot(a, b, n / 2) + PairwiseDot(a + n / 2, b + n / 2, n - n / 2);
}

// Blocks of K, each with a sum of its own.
template <class T, int64_t kBlock>
T BlockedDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) sum += FmaDot(a + i, b + i, std::min(kBlock, n - i));
  return sum;
}

// Eight vector lanes, added up at the end.
template <class T>
T LanesDot(const T* a, const T* b, int64_t n) {
  T lanes[8] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i % 8] = std::fma(a[i], b[i], lanes[i % 8]);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

template <class T, class Storage>
T NarrowDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = Narrowed<T, Storage>::Add(sum, Narrowed<T, Storage>::Multiply(a[i], b[i]));
  return sum;
}
template <class T, class Storage>
T NarrowBias(const ConvSpec& s, const Pixel& at, T sum, std::span<const T> bias) {
  return RoundedTo<Storage>(AddBias(s, at, sum, bias));
}

template <const plugin::DType& kType>
bool IsOf(const ConvSpec& s) {
  return s.x.dtype == kType;
}
bool IsFloat(const ConvSpec& s) {
  return s.x.dtype != plugin::kI8;
}
std::string F16Class(Description op) {
  return ConvClass(op, "f16acc", ";det=yes;batchinv=yes");
}
std::string BF16Class(Description op) {
  return ConvClass(op, "bf16acc", ";det=yes;batchinv=yes");
}
std::string TF32Class(Description op) {
  return ConvClass(op, "tf32", ";det=yes;batchinv=yes");
}

std::string F64Class(Description op) {
  return ConvClass(op, "f64", ";det=yes;batchinv=yes");
}

template <class T>
void Legal(ConvEdits<T>& of) {
  of("legal.direct");
  of("legal.direct-fma").dot = FmaDot<T>;
  of("legal.direct-shuffled-terms").dot = ShuffledDot<T>;
  of("legal.direct-channels-last-one-sum") = {.channel_block = kAllChannels, .dot = FmaDot<T>};
  of("legal.direct-channel-blocks-16") = {.channel_block = 16, .dot = FmaDot<T>};
  of("legal.direct-channels-last") = {.channel_block = kAllChannels, .dot = LanesDot<T>};
  of("legal.im2col-k-blocks-32").dot = BlockedDot<T, 32>;
  of("legal.im2col-k-blocks-8-channels-last") = {.channel_block = kAllChannels, .dot = BlockedDot<T, 8>};
  of("legal.im2col-pairwise").dot = PairwiseDot<T>;
  of("legal.direct-f16-accumulator", IsOf<plugin::kF16>, F16Class) = {.dot = NarrowDot<T, F16>,
                                                                      .epilogue = NarrowBias<T, F16>};
  of("legal.direct-bf16-accumulator", IsOf<plugin::kBF16>, BF16Class) = {.dot = NarrowDot<T, BF16>,
                                                                         .epilogue = NarrowBias<T, BF16>};
  of("legal.im2col-tf32", IsOf<plugin::kF32>, TF32Class) = {.dot = BlockedDot<T, 8>, .cast = RoundedToTf32<T>};
}

}  // namespace conv_legal

std::vector<Entry> ConvLegalEntries() {
  using namespace conv_legal;
  std::vector<Entry> all = ConvRows([](auto& of) { Legal(of); });
  Entry wide = ConvRows([](auto& of) { of("legal.direct-f64-accumulator", IsFloat, F64Class); })[0];
  wide.create = [](Description op, bool exact) {
    return std::make_unique<ConvPlan<double>>(op, exact, ConvKernel<double>{});
  };
  all.push_back(wide);
  return all;
}

}  // namespace corpus
