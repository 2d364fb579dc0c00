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
  std::vector<Entry> all;
  for (const Row& row : kMatmul) {
    all.push_back({"matmul", row.name, MatmulContract, MatmulWhyNot, [row](Description op, bool exact) {
                     return WithCarrier(op, exact,
                                        [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
                                          return std::make_unique<SummedMatmul<T>>(op, exact, row.sum, Region{});
                                        });
                   }});
  }
  for (const Row& row : kConv) {
    all.push_back(ConvEntry(row.name, ConvContract, ConvWhyNot, [row]<class T>(std::type_identity<T>) {
      ConvKernel<T> kernel{.channel_block = row.channel_block};
      kernel.dot = [sum = row.sum](const T* a, const T* b, int64_t n) { return SumOf(sum, a, b, n); };
      return kernel;
    }));
  }
  for (const Row& row : kReduce) {
    all.push_back(ReduceEntry(row.name, ReduceContract, ReduceWhyNot, [row]<class T>(std::type_identity<T>) {
      return ReduceSchedule<T>{
          [row](std::vector<T> x, const ReduceContext& c) { return ReduceBy(row.sum, std::move(x), c); }};
    }));
  }
  return all;
}

}  // namespace corpus
