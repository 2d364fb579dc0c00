// SPDX-License-Identifier: Apache-2.0
// Correct softmax and attention: tiles that are no powers of two, from both sides, and other orders of the sums.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/attention_held.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {
namespace {

template <class T>
T SumOfExponentials(const Summation& sum, const T* x, size_t count, T max) {
  std::vector<T> terms;
  for (size_t i = 0; i < count; ++i) terms.push_back(std::exp(x[i] - max));
  return SumOf<T>(sum, terms.data(), nullptr, std::ssize(terms));
}

// Tiles from the last to the first. Each has a maximum and a sum of its own, merged with what was there.
template <class T>
RowFacts<T> TilesBackward(size_t tile, const Summation& sum, const std::vector<T>& x) {
  RowFacts<T> row{-std::numeric_limits<T>::infinity(), 0};
  for (size_t first = (x.size() - 1) / tile * tile + tile; first > 0;) {
    first -= tile;
    const size_t count = std::min(tile, x.size() - first);
    T own = x[first];
    for (size_t i = first; i < first + count; ++i) own = LargerOrNan(own, x[i]);
    const T max = LargerOrNan(row.max, own);
    if (max == -std::numeric_limits<T>::infinity()) continue;
    row.sum = row.sum == 0 ? T{0} : row.sum * std::exp(row.max - max);
    row.sum += SumOfExponentials(sum, x.data() + first, count, max);
    row.max = max;
  }
  return row;
}

struct SoftmaxRow {
  const char* name;
  size_t tile;  // 0: two passes
  Summation sum{};
};
const SoftmaxRow kSoftmax[] = {
    {"legal.online-backward-tiles-7", 7},
    {"legal.online-backward-tiles-48-lanes-6", 48, {.lanes = 6}},
    {"legal.online-backward-tiles-500-kahan", 500, {.carry = Carry::kKahan}},
    {"legal.strided-6-sum", 0, {.order = Order::kStrided, .stride = 6}},
    {"legal.parts-5-by-halves", 0, {.parts = 5, .combine = Combine::kByHalves}},
};

template <class T>
RowFacts<T> FactsOf(const SoftmaxRow& row, const std::vector<T>& x) {
  if (row.tile > 0) return TilesBackward(row.tile, row.sum, x);
  const T max = MaxOf(x);
  return {max, SumOfExponentials(row.sum, x.data(), x.size(), max)};
}

struct AttentionRow {
  const char* name;
  int64_t tile = 0;
  bool backwards = false;
  int64_t units = 1;
  Summation dot{}, sum{};
};
const AttentionRow kAttention[] = {
    {.name = "legal.flash-7", .tile = 7},
    {.name = "legal.flash-24-backwards-fma", .tile = 24, .backwards = true, .dot = {.fused = true}},
    {.name = "legal.flash-80-dot-lanes-3", .tile = 80, .dot = {.lanes = 3}, .sum = {.order = Order::kBackward}},
    {.name = "legal.split-keys-3-of-5", .tile = 5, .units = 3},
    {.name = "legal.split-keys-6-of-20-backwards", .tile = 20, .backwards = true, .units = 6},
    {.name = "legal.materialised-strided",
     .dot = {.order = Order::kStrided, .stride = 4},
     .sum = {.order = Order::kStrided, .stride = 10}},
};

}  // namespace

std::vector<Entry> FreshNetworks() {
  const auto softmax = []<class T>(SoftmaxEdits<T>& of) {
    for (const SoftmaxRow& row : kSoftmax)
      of(row.name).facts = [row](const std::vector<T>& x) { return FactsOf(row, x); };
  };
  const auto attention = []<class T>(AttentionEdits<T>& of) {
    for (const AttentionRow& row : kAttention) {
      AttentionKernel<T>& kernel = of(row.name);
      kernel.tile = row.tile, kernel.backwards = row.backwards, kernel.units = row.units;
      kernel.dot = DotBy<T>(row.dot), kernel.sum = TermsBy<T>(row.sum);
    }
  };
  return Joined({SoftmaxRows(softmax), AttentionRows(attention)});
}

}  // namespace corpus
