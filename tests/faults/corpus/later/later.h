// SPDX-License-Identifier: Apache-2.0
// The later part: mistakes of an author of kernels. Which causes are named was studied with one half of them
// (studied.txt) and is measured with the other (unseen.txt); the lists were drawn before either had been run.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/rounding.h"

namespace corpus {

std::vector<Entry> MatmulLater();
std::vector<Entry> ConvLater();
std::vector<Entry> AttentionLater();
std::vector<Entry> SoftmaxLater();
std::vector<Entry> ReduceLater();
std::vector<Entry> FftLater();

// A bug around a correct kernel: what it makes of the operands before, or of the results afterwards.
template <class T>
struct Around {
  std::function<void(std::vector<std::vector<T>>&, Description)> load;
  std::function<void(std::vector<T>&, Description)> store;
};

template <template <class> class Plan, template <class> class Kernel, class T>
class AroundPlan : public Plan<T> {
 public:
  AroundPlan(Description op, bool exact, Around<T> around)
      : Plan<T>(op, exact, Kernel<T>{}), around_(std::move(around)) {}

 private:
  void Load(std::vector<std::vector<T>>& inputs) override {
    if (around_.load) around_.load(inputs, this->op());
  }
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
    if (around_.store) around_.store(y.values, this->op());
  }
  const Around<T> around_;
};

// The value in eight bits, of which the largest magnitude is 127.
template <class T>
T InInt8(T x, T largest) {
  if (!(largest > 0) || !std::isfinite(largest)) return x;
  const T unit = largest / 127;
  return std::nearbyint(x / unit) * unit;
}
template <class T>
T LargestMagnitude(const T* x, int64_t n) {
  T largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

}  // namespace corpus
