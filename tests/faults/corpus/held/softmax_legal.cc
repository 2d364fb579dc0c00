// SPDX-License-Identifier: Apache-2.0
// Correct softmax: orders of the sum, tiles with a running maximum, ways to divide.
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {
namespace {

struct Row {
  const char* name;
  Summation sum{};
  size_t tile = 0;          // of one pass with a running maximum; 0: two passes
  bool multiplies = false;  // by the reciprocal of the sum
};

const Row kRows[] = {
    {"legal.backward", {.order = Order::kBackward}},
    {"legal.lanes-8-by-halves", {.lanes = 8, .combine = Combine::kByHalves}},
    {"legal.lanes-32-reciprocal", {.lanes = 32, .combine = Combine::kPairwise}, 0, true},
    {"legal.blocks-of-64", {.block = 64, .combine = Combine::kBackward}},
    {"legal.parts-4", {.parts = 4}},
    {"legal.shuffled-seed-5", {.order = Order::kShuffled, .seed = 5}},
    {"legal.from-both-ends-reciprocal", {.order = Order::kFromBothEnds}, 0, true},
    {"legal.exact-sum", {.carry = Carry::kExact}},
    {"legal.kahan-sum", {.carry = Carry::kKahan}},
    {"legal.online-tiles-2", {}, 2},
    {"legal.online-tiles-8-lanes-4", {.lanes = 4}, 8},
    {"legal.online-tiles-16-reciprocal", {}, 16, true},
    {"legal.online-tiles-32-pairwise", {.lanes = 16, .combine = Combine::kPairwise}, 32},
    {"legal.online-tiles-128", {}, 128},
    {"legal.online-tiles-256-reciprocal", {.lanes = 32, .combine = Combine::kByHalves}, 256, true},
};

template <class T>
T SumOfExponentials(const Summation& sum, const T* x, size_t count, T max) {
  std::vector<T> terms;
  for (size_t i = 0; i < count; ++i) terms.push_back(std::exp(x[i] - max));
  return SumOf<T>(sum, terms.data(), nullptr, std::ssize(terms));
}

template <class T>
RowFacts<T> FactsOf(const Row& how, const std::vector<T>& x) {
  const size_t tile = how.tile == 0 ? x.size() : how.tile;
  RowFacts<T> row{-std::numeric_limits<T>::infinity(), 0};
  for (size_t first = 0; first < x.size(); first += tile) {
    const size_t count = std::min(tile, x.size() - first);
    const T before = row.max;
    for (size_t i = first; i < first + count; ++i) row.max = LargerOrNan(row.max, x[i]);
    if (row.max == -std::numeric_limits<T>::infinity()) continue;
    if (row.sum != 0 && before != row.max) row.sum *= std::exp(before - row.max);
    row.sum += SumOfExponentials(how.sum, x.data() + first, count, row.max);
  }
  return row;
}

}  // namespace

std::vector<Entry> SoftmaxHeldLegal() {
  return SoftmaxRows([]<class T>(SoftmaxEdits<T>& of) {
    for (const Row& row : kRows) {
      SoftmaxKernel<T>& kernel = of(row.name);
      kernel.facts = [row](const std::vector<T>& x) { return FactsOf(row, x); };
      if (!row.multiplies) continue;
      kernel.probability = [](T x, const RowFacts<T>& r) { return std::exp(x - r.max) * (T{1} / r.sum); };
    }
  });
}

}  // namespace corpus
