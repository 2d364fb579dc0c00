// SPDX-License-Identifier: Apache-2.0
// Correct reductions: orders of their sums.
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

struct Row {
  const char* name;
  Summation sum;
};

const Row kRows[] = {
    {"legal.backward", {.order = Order::kBackward}},
    {"legal.blocks-of-2", {.block = 2}},
    {"legal.blocks-of-8-pairwise", {.block = 8, .combine = Combine::kPairwise}},
    {"legal.blocks-of-32-backward", {.block = 32, .combine = Combine::kBackward}},
    {"legal.blocks-of-128-by-halves", {.block = 128, .combine = Combine::kByHalves}},
    {"legal.blocks-of-256-of-lanes-32", {.block = 256, .lanes = 32, .combine = Combine::kByHalves}},
    {"legal.lanes-4", {.lanes = 4}},
    {"legal.lanes-16-pairwise", {.lanes = 16, .combine = Combine::kPairwise}},
    {"legal.lanes-64-by-halves", {.lanes = 64, .combine = Combine::kByHalves}},
    {"legal.groups-of-4-pairwise", {.lanes = 4, .in_groups = true, .combine = Combine::kPairwise}},
    {"legal.two-parts", {.parts = 2}},
    {"legal.parts-8-of-lanes-4", {.parts = 8, .lanes = 4}},
    {"legal.parts-64-by-halves", {.parts = 64, .combine = Combine::kByHalves}},
    {"legal.shuffled-seed-3", {.order = Order::kShuffled, .seed = 3}},
    {"legal.shuffled-seed-4-blocks-of-16", {.order = Order::kShuffled, .seed = 4, .block = 16}},
    {"legal.bit-reversed", {.order = Order::kBitReversed}},
    {"legal.even-then-odd", {.order = Order::kEvenThenOdd}},
    {"legal.from-both-ends", {.order = Order::kFromBothEnds}},
    {"legal.neumaier", {.carry = Carry::kNeumaier}},
    {"legal.kahan-lanes-8", {.lanes = 8, .carry = Carry::kKahan}},
    {"legal.exact-sum", {.carry = Carry::kExact}},
};

}  // namespace

std::vector<Entry> ReduceHeldLegal() {
  return ReduceRows([]<class T>(ReduceEdits<T>& of) {
    using enum ReduceKind;
    const auto sums = [](const plugin::ReduceSpec& s) { return IsOneOf(s, {kSum, kMean, kL2, kLogSumExp}); };
    for (const Row& row : kRows) {
      of(row.name, sums).value = [row](std::vector<T> x, const ReduceContext& c) {
        return ReduceBy(row.sum, std::move(x), c);
      };
    }
  });
}

}  // namespace corpus
