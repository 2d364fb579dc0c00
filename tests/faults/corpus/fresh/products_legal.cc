// SPDX-License-Identifier: Apache-2.0
// Correct matrix products, convolutions and reductions: splits and blocks that are no powers of two, other orders.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/conv_held.h"
#include "tests/faults/corpus/held/matmul_held.h"
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

struct Row {
  const char* name;
  Summation sum;
  int64_t channel_block = 1;  // of conv
};

const Row kMatmul[] = {
    {"legal.split-k-3-pairwise", {.parts = 3, .lanes = 2, .combine = Combine::kPairwise}},
    {"legal.split-k-5-backward-fma", {.parts = 5, .combine = Combine::kBackward, .fused = true}},
    {"legal.strided-7-blocks-of-13-fma", {.order = Order::kStrided, .stride = 7, .block = 13, .fused = true}},
    {"legal.lanes-3-in-blocks-of-24", {.block = 24, .lanes = 3}},
    {"legal.groups-of-16-by-halves", {.lanes = 16, .in_groups = true, .combine = Combine::kByHalves}},
    {"legal.backward-lanes-12-fma", {.order = Order::kBackward, .lanes = 12, .fused = true}},
};
const Row kConv[] = {
    {"legal.direct-channel-blocks-3", {}, 3},
    {"legal.direct-channel-blocks-6-backward-fma", {.order = Order::kBackward, .fused = true}, 6},
    {"legal.implicit-gemm-split-k-3-fma", {.parts = 3, .fused = true}},
    {"legal.implicit-gemm-strided-9", {.order = Order::kStrided, .stride = 9}},
    {"legal.im2col-neumaier-channels-last", {.carry = Carry::kNeumaier}, kAllChannels},
    {"legal.im2col-groups-of-5", {.lanes = 5, .in_groups = true}},
};
const Row kReduce[] = {
    {"legal.parts-3-of-lanes-5", {.parts = 3, .lanes = 5}},
    {"legal.strided-7-by-halves", {.order = Order::kStrided, .stride = 7, .block = 16, .combine = Combine::kByHalves}},
    {"legal.blocks-of-100-backward", {.block = 100, .combine = Combine::kBackward}},
    {"legal.groups-of-3", {.lanes = 3, .in_groups = true}},
    {"legal.shuffled-seed-11-parts-6", {.order = Order::kShuffled, .seed = 11, .parts = 6}},
    {"legal.lanes-48-pairwise", {.lanes = 48, .combine = Combine::kPairwise}},
};

}  // namespace

std::vector<Entry> FreshProducts() {
  const auto matmul = []<class T>(MatmulEdits<T>& of) {
    for (const Row& row : kMatmul) of(row.name).dot = DotIn<T>(row.sum, Region{});
  };
  const auto conv = []<class T>(ConvEdits<T>& of) {
    for (const Row& row : kConv) of(row.name) = {.channel_block = row.channel_block, .dot = DotBy<T>(row.sum)};
  };
  const auto reduce = []<class T>(ReduceEdits<T>& of) {
    for (const Row& row : kReduce) {
      of(row.name).value = [row](std::vector<T> x, const ReduceContext& c) {
        return ReduceBy(row.sum, std::move(x), c);
      };
    }
  };
  return Joined({MatmulRows(matmul), ConvRows(conv), ReduceRows(reduce)});
}

}  // namespace corpus
