// SPDX-License-Identifier: Apache-2.0
// Correct convolutions: nestings of channels and taps, orders and splits of the sum.
#include "tests/faults/corpus/held/conv_held.h"

namespace corpus {
namespace {

struct Row {
  const char* name;
  int64_t channel_block = 1;
  Summation sum{};
};

const Row kRows[] = {
    {"legal.direct-backward", 1, {.order = Order::kBackward}},
    {"legal.direct-channel-blocks-4-fma", 4, {.fused = true}},
    {"legal.direct-channel-blocks-8-lanes-8", 8, {.lanes = 8, .combine = Combine::kByHalves}},
    {"legal.direct-channel-blocks-32-of-sums", 32, {.block = 32, .fused = true}},
    {"legal.direct-taps-of-9-summed-apart", 1, {.block = 9}},
    {"legal.direct-channels-last-lanes-16", kAllChannels, {.lanes = 16, .combine = Combine::kPairwise, .fused = true}},
    {"legal.direct-groups-of-4", 4, {.lanes = 4, .in_groups = true}},
    {"legal.implicit-gemm-blocks-64", 1, {.block = 64, .fused = true}},
    {"legal.implicit-gemm-split-k-2", 1, {.parts = 2, .fused = true}},
    {"legal.implicit-gemm-split-k-8-channels-last", kAllChannels, {.parts = 8, .combine = Combine::kPairwise}},
    {"legal.implicit-gemm-split-k-32-blocks-8", 1, {.parts = 32, .block = 8}},
    {"legal.im2col-shuffled-seed-8", 1, {.order = Order::kShuffled, .seed = 8}},
    {"legal.im2col-even-then-odd", 1, {.order = Order::kEvenThenOdd, .fused = true}},
    {"legal.im2col-from-both-ends", kAllChannels, {.order = Order::kFromBothEnds}},
    {"legal.im2col-kahan", 1, {.carry = Carry::kKahan}},
    {"legal.im2col-exact-sum", 1, {.carry = Carry::kExact}},
};

}  // namespace

std::vector<Entry> ConvHeldLegal() {
  return ConvRows([]<class T>(ConvEdits<T>& of) {
    for (const Row& row : kRows) of(row.name) = {.channel_block = row.channel_block, .dot = DotBy<T>(row.sum)};
  });
}

}  // namespace corpus
