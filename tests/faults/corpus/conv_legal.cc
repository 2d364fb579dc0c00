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

std::string Floats(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.x.dtype != plugin::kI8; }, "this is for floating-point operands");
}
std::string Operands(Description op, plugin::DType type, const char* otherwise) {
  return op.inputs()[0].dtype == type ? ConvWhyNot(op) : otherwise;
}
std::string F16Operands(Description op) {
  return Operands(op, plugin::kF16, "this takes f16 operands");
}
std::string BF16Operands(Description op) {
  return Operands(op, plugin::kBF16, "this takes bf16 operands");
}
std::string F32Operands(Description op) {
  return Operands(op, plugin::kF32, "this takes f32 operands");
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

template <class Make>
Entry Legal(const char* name, Make make) {
  return ConvEntry(name, ConvContract, ConvWhyNot, make);
}

}  // namespace conv_legal

std::vector<Entry> ConvLegalEntries() {
  using namespace conv_legal;
  return {
      Legal("legal.direct", []<class T>(std::type_identity<T>) { return ConvKernel<T>{}; }),
      Legal("legal.direct-fma", []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = FmaDot<T>}; }),
      Legal("legal.direct-shuffled-terms",
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = ShuffledDot<T>}; }),
      Legal("legal.direct-channels-last-one-sum",
            []<class T>(std::type_identity<T>) {
              return ConvKernel<T>{.channel_block = kAllChannels, .dot = FmaDot<T>};
            }),
      Legal("legal.direct-channel-blocks-16",
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.channel_block = 16, .dot = FmaDot<T>}; }),
      Legal("legal.direct-channels-last",
            []<class T>(std::type_identity<T>) {
              return ConvKernel<T>{.channel_block = kAllChannels, .dot = LanesDot<T>};
            }),
      Legal("legal.im2col-k-blocks-32",
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = BlockedDot<T, 32>}; }),
      Legal("legal.im2col-k-blocks-8-channels-last",
            []<class T>(std::type_identity<T>) {
              return ConvKernel<T>{.channel_block = kAllChannels, .dot = BlockedDot<T, 8>};
            }),
      Legal("legal.im2col-pairwise",
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = PairwiseDot<T>}; }),
      ConvEntry("legal.direct-f16-accumulator", F16Class, F16Operands,
                []<class T>(std::type_identity<T>) {
                  return ConvKernel<T>{.dot = NarrowDot<T, F16>, .epilogue = NarrowBias<T, F16>};
                }),
      ConvEntry("legal.direct-bf16-accumulator", BF16Class, BF16Operands,
                []<class T>(std::type_identity<T>) {
                  return ConvKernel<T>{.dot = NarrowDot<T, BF16>, .epilogue = NarrowBias<T, BF16>};
                }),
      ConvEntry("legal.im2col-tf32", TF32Class, F32Operands,
                []<class T>(std::type_identity<T>) {
                  return ConvKernel<T>{.dot = BlockedDot<T, 8>, .cast = RoundedToTf32<T>};
                }),
      {"conv", "legal.direct-f64-accumulator",
       [](Description op) { return ConvClass(op, "f64", ";det=yes;batchinv=yes"); }, Floats,
       [](Description op, bool exact) -> std::unique_ptr<plugin::Plan> {
         return std::make_unique<ConvPlan<double>>(op, exact, ConvKernel<double>{});
       }},
  };
}

}  // namespace corpus
