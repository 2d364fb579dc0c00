// SPDX-License-Identifier: Apache-2.0
// Convolutions with a wrong bias, undeclared narrowings, or outputs in the wrong place.
#include "tests/faults/corpus/conv_kernel.h"

namespace corpus {
namespace conv_other {

using plugin::BF16;
using plugin::F16;

template <class T>
T BiasMissing(const ConvSpec&, const Pixel&, T sum, std::span<const T>) {
  return sum;
}
template <class T>
T BiasTwice(const ConvSpec& s, const Pixel& at, T sum, std::span<const T> bias) {
  return AddBias(s, at, AddBias(s, at, sum, bias), bias);
}
// By column in place of by channel.
template <class T>
T BiasByColumn(const ConvSpec& s, const Pixel& at, T sum, std::span<const T> bias) {
  return sum + bias[static_cast<size_t>(at.at[2] % s.o)];
}
template <class T>
T BiasOfNextChannel(const ConvSpec& s, const Pixel& at, T sum, std::span<const T> bias) {
  return sum + bias[static_cast<size_t>((at.channel + 1) % s.o)];
}
template <class T>
T BiasMissingInLastTile(const ConvSpec& s, const Pixel& at, T sum, std::span<const T> bias) {
  return PositionOf(s, at) < (s.Positions() - 1) / 16 * 16 ? AddBias(s, at, sum, bias) : sum;
}
template <class T>
T BiasInBF16(const ConvSpec&, const Pixel& at, T sum, std::span<const T> bias) {
  return sum + RoundedTo<BF16>(bias[static_cast<size_t>(at.channel)]);
}

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
template <class T, class Storage>
T NarrowProducts(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += RoundedTo<Storage>(a[i] * b[i]);
  return sum;
}

std::string Floats(Description op) {
  return op.inputs()[0].dtype.code == ASSAY_TYPE_INT ? "this is for floating-point operands" : ConvWhyNot(op);
}
std::string SeveralTerms(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.Terms() > 16 && s.x.dtype != plugin::kI8; },
      "this needs more than 16 floating-point terms");
}
std::string FloatSums(Description op) {
  const std::string reason = Floats(op);
  return reason.empty() ? SeveralTerms(op) : reason;
}
std::string F32Operands(Description op) {
  return op.inputs()[0].dtype == plugin::kF32 ? ConvWhyNot(op) : "this takes f32 operands";
}
std::string WiderThanF16(Description op) {
  const plugin::DType type = op.inputs()[0].dtype;
  return type == plugin::kF16 || type == plugin::kBF16 ? "the operands have few enough bits" : Floats(op);
}
std::string WiderThanBF16(Description op) {
  return op.inputs()[0].dtype == plugin::kBF16 ? "the operands are that narrow anyway" : Floats(op);
}
std::string Biased(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.has_bias; }, "this needs a bias");
}
std::string BiasedChannels(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.has_bias && s.o > 1; }, "this needs a bias of several channels");
}
std::string WideBias(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.has_bias && s.bias_dtype != plugin::kBF16; },
      "this needs a bias wider than bf16");
}
std::string SeveralOutputs(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.out[2] > 1; }, "this needs several outputs in a row");
}
std::string SeveralChannels(Description op) {
  return ConvWhen(
      op, [](const auto& s) { return s.o > 1; }, "this needs several output channels");
}

template <class T>
class LastElementUnwritten : public ConvPlan<T> {
 public:
  using ConvPlan<T>::ConvPlan;

 private:
  void Finish(DenseOutput<T>& y) override { y.LeaveUnwritten(std::ssize(y.values) - 1); }
};

// The last column of every channel: a tile's edge.
template <class T>
class LastColumnUnwritten : public ConvPlan<T> {
 public:
  using ConvPlan<T>::ConvPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    const int64_t row = this->spec().out[2];
    for (int64_t i = row; i <= std::ssize(y.values); i += row) y.LeaveUnwritten(i - 1);
  }
};

template <class T>
class LastColumnsSwapped : public ConvPlan<T> {
 public:
  using ConvPlan<T>::ConvPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    const auto row = static_cast<size_t>(this->spec().out[2]);
    for (size_t i = row; i <= y.values.size(); i += row) std::swap(y.values[i - 1], y.values[i - 2]);
  }
};

// The first two output channels of every image change places.
template <class T>
class OutputChannelsSwapped : public ConvPlan<T> {
 public:
  using ConvPlan<T>::ConvPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    const auto size = static_cast<std::ptrdiff_t>(this->spec().Positions());
    for (int64_t image = 0; image < this->spec().n; ++image) {
      const auto first = y.values.begin() + image * this->spec().o * size;
      std::swap_ranges(first, first + size, first + size);
    }
  }
};

template <template <class> class Plan>
Entry OfPlan(const char* name, TextOf why_not) {
  return {"conv", name, ConvContract, why_not, [](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<Plan<T>>(op, exact, ConvKernel<T>{});
            });
          }};
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return ConvEntry(name, ConvContract, why_not, make);
}

}  // namespace conv_other

std::vector<Entry> ConvOtherFaults() {
  using namespace conv_other;
  return {
      Fault("fault.bias-missing", Biased,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.epilogue = BiasMissing<T>}; }),
      Fault("fault.bias-added-twice", Biased,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.epilogue = BiasTwice<T>}; }),
      Fault("fault.bias-by-column", BiasedChannels,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.epilogue = BiasByColumn<T>}; }),
      Fault("fault.bias-of-next-channel", BiasedChannels,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.epilogue = BiasOfNextChannel<T>}; }),
      Fault("fault.bias-missing-in-last-tile", Biased,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.epilogue = BiasMissingInLastTile<T>}; }),
      Fault("fault.bias-in-bf16", WideBias,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.epilogue = BiasInBF16<T>}; }),
      Fault("fault.f16-accumulator", FloatSums,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = NarrowDot<T, F16>}; }),
      Fault("fault.bf16-accumulator", FloatSums,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = NarrowDot<T, BF16>}; }),
      Fault("fault.f16-spills-between-blocks", FloatSums,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = SpilledDot<T, F16>}; }),
      Fault("fault.bf16-spills-between-blocks", FloatSums,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = SpilledDot<T, BF16>}; }),
      Fault("fault.f16-products", Floats,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.dot = NarrowProducts<T, F16>}; }),
      Fault("fault.tf32-operands", F32Operands,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.cast = RoundedToTf32<T>}; }),
      Fault("fault.tf32-operands-truncated", F32Operands,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.cast = TruncatedToTf32<T>}; }),
      Fault("fault.f16-operands", WiderThanF16,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.cast = RoundedTo<F16, T>}; }),
      Fault("fault.bf16-operands", WiderThanBF16,
            []<class T>(std::type_identity<T>) { return ConvKernel<T>{.cast = RoundedTo<BF16, T>}; }),
      OfPlan<LastElementUnwritten>("fault.last-element-unwritten", ConvWhyNot),
      OfPlan<LastColumnUnwritten>("fault.last-column-unwritten", ConvWhyNot),
      OfPlan<LastColumnsSwapped>("fault.last-columns-swapped", SeveralOutputs),
      OfPlan<OutputChannelsSwapped>("fault.output-channels-swapped", SeveralChannels),
  };
}

}  // namespace corpus
