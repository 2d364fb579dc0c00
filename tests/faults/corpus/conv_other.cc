// SPDX-License-Identifier: Apache-2.0
// Convolutions with a wrong bias, undeclared narrowings, or outputs in the wrong place.
#include "tests/faults/corpus/conv_kernel.h"

namespace corpus {
namespace conv_other {

using plugin::BF16;
using plugin::F16;
using Spec = const ConvSpec&;

template <class T, class Storage>
T NarrowDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = RoundedTo<Storage>(sum + a[i] * b[i]);
  return sum;
}
// Blocks of 16 terms are summed wide and spilled narrow.
template <class T, class Storage>
T SpilledDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; i += 16)
    sum = RoundedTo<Storage>(sum + ConvDot(a + i, b + i, std::min<int64_t>(16, n - i)));
  return sum;
}

// Where each bug can strike.
constexpr auto kFloats = [](Spec s) { return s.x.dtype != plugin::kI8; };
constexpr auto kFloatSums = [](Spec s) { return kFloats(s) && s.Terms() > 16; };
constexpr auto kF32Operands = [](Spec s) { return s.x.dtype == plugin::kF32; };
constexpr auto kWiderThanBF16 = [](Spec s) { return kFloats(s) && s.x.dtype != plugin::kBF16; };
constexpr auto kWiderThanF16 = [](Spec s) { return kWiderThanBF16(s) && s.x.dtype != plugin::kF16; };
constexpr auto kBiased = [](Spec s) { return s.has_bias; };
constexpr auto kBiasedChannels = [](Spec s) { return s.has_bias && s.o > 1; };
constexpr auto kWideBias = [](Spec s) { return s.has_bias && s.bias_dtype != plugin::kBF16; };

template <class T>
void Biases(ConvEdits<T>& of) {
  using Bias = std::span<const T>;
  of("fault.bias-missing", kBiased).epilogue = [](Spec, const Pixel&, T sum, Bias) { return sum; };
  of("fault.bias-added-twice", kBiased).epilogue = [](Spec s, const Pixel& at, T sum, Bias bias) {
    return AddBias(s, at, AddBias(s, at, sum, bias), bias);
  };
  of("fault.bias-by-column", kBiasedChannels).epilogue = [](Spec s, const Pixel& at, T sum, Bias bias) {
    return sum + bias[static_cast<size_t>(at.at[2] % s.o)];
  };
  of("fault.bias-of-next-channel", kBiasedChannels).epilogue = [](Spec s, const Pixel& at, T sum, Bias bias) {
    return sum + bias[static_cast<size_t>((at.channel + 1) % s.o)];
  };
  of("fault.bias-missing-in-last-tile", kBiased).epilogue = [](Spec s, const Pixel& at, T sum, Bias bias) {
    return PositionOf(s, at) < (s.Positions() - 1) / 16 * 16 ? AddBias(s, at, sum, bias) : sum;
  };
  of("fault.bias-in-bf16", kWideBias).epilogue = [](Spec, const Pixel& at, T sum, Bias bias) {
    return sum + RoundedTo<BF16>(bias[static_cast<size_t>(at.channel)]);
  };
}

template <class T>
void Narrowings(ConvEdits<T>& of) {
  of("fault.f16-accumulator", kFloatSums).dot = NarrowDot<T, F16>;
  of("fault.bf16-accumulator", kFloatSums).dot = NarrowDot<T, BF16>;
  of("fault.f16-spills-between-blocks", kFloatSums).dot = SpilledDot<T, F16>;
  of("fault.bf16-spills-between-blocks", kFloatSums).dot = SpilledDot<T, BF16>;
  of("fault.f16-products", kFloats).dot = [](const T* a, const T* b, int64_t n) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += RoundedTo<F16>(a[i] * b[i]);
    return sum;
  };
  of("fault.tf32-operands", kF32Operands).cast = RoundedToTf32<T>;
  of("fault.tf32-operands-truncated", kF32Operands).cast = TruncatedToTf32<T>;
  of("fault.f16-operands", kWiderThanF16).cast = RoundedTo<F16, T>;
  of("fault.bf16-operands", kWiderThanBF16).cast = RoundedTo<BF16, T>;
}

constexpr IoBug kPlaces[] = {
    {"fault.last-element-unwritten", kOutput, kFlat, Last(), Strike::kUnwritten},
    {"fault.last-column-unwritten", kOutput, -1, Last(), Strike::kUnwritten},
    {"fault.last-columns-swapped", kOutput, -1, All(), Strike::kLastTwoSwapped},
};

// The first two output channels of every image change places.
template <class T>
class OutputChannelsSwapped : public ConvPlan<T> {
 public:
  using ConvPlan<T>::ConvPlan;

 private:
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
    const auto size = static_cast<std::ptrdiff_t>(this->spec().Positions());
    for (int64_t image = 0; image < this->spec().n; ++image) {
      const auto first = y.values.begin() + image * this->spec().o * size;
      std::swap_ranges(first, first + size, first + size);
    }
  }
};

}  // namespace conv_other

std::vector<Entry> ConvOtherFaults() {
  using namespace conv_other;
  return Joined({ConvRows([](auto& of) { Biases(of), Narrowings(of); }), ConvIoBugs(kPlaces),
                 ConvRows<OutputChannelsSwapped>(
                     [](auto& of) { of("fault.output-channels-swapped", [](Spec s) { return s.o > 1; }); })});
}

}  // namespace corpus
