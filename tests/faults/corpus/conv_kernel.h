// SPDX-License-Identifier: Apache-2.0
// Convolution as a kernel of replaceable steps: where each tap reads, which terms an output sums and in which order,
// what follows the sum. Winograd's algorithm is in conv_winograd.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/conv_spec.h"
#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/edits.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

using plugin::ConvSpec;
using plugin::Extents;

// The output that is being computed.
struct Pixel {
  int64_t image = 0, channel = 0;
  Extents at{};
};

inline int64_t PositionOf(const ConvSpec& s, const Pixel& p) {
  return (p.at[0] * s.out[1] + p.at[1]) * s.out[2] + p.at[2];
}

inline Extents SplitIndex(int64_t index, const Extents& extents) {
  return {index / extents[2] / extents[1], index / extents[2] % extents[1], index % extents[2]};
}

// Where tap t reads along an axis; outside [0, in) it is padding.
inline int64_t SourceOf(const ConvSpec& s, int axis, int64_t p, int64_t t) {
  return s.Source(axis, p, t);
}
// The channel of x that is number c of those which output channel o sums.
inline int64_t ChannelOf(const ConvSpec& s, int64_t o, int64_t c) {
  return o / s.GroupOutputs() * s.GroupInputs() + c;
}
inline Extents SameTap(const ConvSpec&, const Extents& t) {
  return t;
}

template <class T>
T ConvDot(const T* a, const T* b, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// `bias` is empty where there is none.
template <class T>
T AddBias(const ConvSpec&, const Pixel& at, T sum, std::span<const T> bias) {
  return bias.empty() ? sum : sum + bias[static_cast<size_t>(at.channel)];
}

// The order (tap, channel).
inline constexpr int64_t kAllChannels = std::numeric_limits<int64_t>::max();

template <class T>
struct ConvKernel {
  int64_t channel_block = 1;  // terms in the order (block of so many channels, tap, channel of the block)
  bool tail_repeats = false;  // terms beyond the last multiple of 16 are read twice
  bool tail_of_next = false;  // zeros fill x up to a multiple of 16 terms, and meet the next channel's weights
  T padding = 0;
  std::function<int64_t(const ConvSpec&, int axis, int64_t p, int64_t t)> source = SourceOf;
  std::function<int64_t(const ConvSpec&, int64_t o, int64_t c)> channel = ChannelOf;
  std::function<Extents(const ConvSpec&, const Extents&)> tap = SameTap;                   // of w
  std::function<bool(const ConvSpec&, const Pixel&, int64_t channel, int64_t tap)> keeps;  // every term, if empty
  std::function<T(const T*, const T*, int64_t)> dot = ConvDot<T>;
  std::function<T(const ConvSpec&, const Pixel&, T sum, std::span<const T> bias)> epilogue = AddBias<T>;
  std::function<T(T)> cast = [](T x) { return x; };
};

template <class T>
class ConvPlan : public DensePlan<T> {
 public:
  ConvPlan(Description op, bool exact, ConvKernel<T> kernel)
      : DensePlan<T>(op, exact), kernel_(kernel), spec_(plugin::ParseConv(op)) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<size_t>(axis);
      for (int64_t p = 0; p < spec_.out[a]; ++p) {
        for (int64_t t = 0; t < spec_.kernel[a]; ++t) sources_[a].push_back(kernel_.source(spec_, axis, p, t));
      }
    }
    for (int64_t i = 0; i < spec_.Terms(); ++i) places_.push_back(PlaceOf(i));
    for (int64_t o = 0; o < spec_.o; ++o) {
      for (int64_t c = 0; c < spec_.GroupInputs(); ++c) channels_.push_back(kernel_.channel(spec_, o, c));
    }
  }

 protected:
  const ConvSpec& spec() const { return spec_; }

 private:
  // Where a term of each output's sum is read.
  struct Place {
    int64_t channel, tap;
    Extents at;
    int64_t weight;  // of the weights of an output channel
  };

  Place PlaceOf(int64_t term) const {
    const int64_t taps = spec_.Taps(), channels = spec_.GroupInputs();
    const int64_t block = std::min(kernel_.channel_block, channels), first = term / (block * taps) * block;
    const int64_t width = std::min(block, channels - first), place = term - first * taps;
    const int64_t c = first + place % width, tap = place / width;
    const Extents at = SplitIndex(tap, spec_.kernel), t = kernel_.tap(spec_, at);
    return {c, tap, at, c * taps + (t[0] * spec_.kernel[1] + t[1]) * spec_.kernel[2] + t[2]};
  }

  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) final {
    x_ = inputs[0], w_ = inputs[1], bias_ = spec_.has_bias ? inputs[2] : std::vector<T>{};
    for (T& element : x_) element = kernel_.cast(element);
    for (T& element : w_) element = kernel_.cast(element);
    T* y = output.values.data();
    Pixel at;
    for (at.image = 0; at.image < spec_.n; ++at.image) {
      for (at.channel = 0; at.channel < spec_.o; ++at.channel) {
        for (int64_t i = 0; i < spec_.Positions(); ++i) {
          at.at = SplitIndex(i, spec_.out);
          *y++ = kernel_.epilogue(spec_, at, Sum(at), bias_);
        }
      }
    }
  }

  T Sum(const Pixel& at) {
    a_.clear(), b_.clear();
    const int64_t weights = at.channel * spec_.GroupInputs() * spec_.Taps();
    for (const Place& place : places_) {
      if (kernel_.keeps && !kernel_.keeps(spec_, at, place.channel, place.tap)) continue;
      a_.push_back(Read(at, place.channel, place.at));
      b_.push_back(w_[static_cast<size_t>(weights + place.weight)]);
    }
    if (kernel_.tail_repeats) RepeatTail();
    if (kernel_.tail_of_next) FillTail(at.channel);
    return kernel_.dot(a_.data(), b_.data(), std::ssize(a_));
  }

  void RepeatTail() {
    const size_t count = a_.size();
    for (size_t i = count / 16 * 16; i < count; ++i) a_.push_back(a_[i]), b_.push_back(b_[i]);
  }

  void FillTail(int64_t channel) {
    for (auto w = static_cast<size_t>((channel + 1) * spec_.Terms()); a_.size() % 16 != 0 && w < w_.size(); ++w) {
      a_.push_back(0), b_.push_back(w_[w]);
    }
  }

  T Read(const Pixel& at, int64_t c, const Extents& t) const {
    int64_t index = at.image * spec_.c + channels_[static_cast<size_t>(at.channel * spec_.GroupInputs() + c)];
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<size_t>(axis);
      const int64_t source = sources_[a][static_cast<size_t>(at.at[a] * spec_.kernel[a] + t[a])];
      if (source < 0 || source >= spec_.in[a]) return kernel_.padding;
      index = index * spec_.in[a] + source;
    }
    return x_[static_cast<size_t>(index)];
  }

  const ConvKernel<T> kernel_;
  const ConvSpec spec_;
  std::array<std::vector<int64_t>, 3> sources_;  // by axis, output and tap
  std::vector<Place> places_;
  std::vector<int64_t> channels_;  // by output channel and number
  std::vector<T> x_, w_, bias_, a_, b_;
};

// "" for the types that conv has; the output may be f64, for effects.
std::string ConvWhyNot(Description op);
// `acc`, or f64 or acc=i32 where the operands ask for it, with `more` behind.
std::string ConvClass(Description op, const std::string& acc, const std::string& more);
std::string ConvContract(Description op);  // f32acc with det and batchinv

template <class T>
using ConvEdits = Edits<ConvKernel<T>, ConvSpec>;
template <template <class> class Plan = ConvPlan, class Fill>
std::vector<Entry> ConvRows(Fill fill) {
  return EntriesOf<Plan, ConvKernel>("conv", ConvContract, ConvWhyNot, plugin::ParseConv, fill);
}
// Bugs of what the correct kernel reads or stores.
inline std::vector<Entry> ConvIoBugs(std::span<const IoBug> bugs) {
  return StruckEntries<ConvPlan, ConvKernel>("conv", ConvContract, ConvWhyNot, bugs);
}

}  // namespace corpus
