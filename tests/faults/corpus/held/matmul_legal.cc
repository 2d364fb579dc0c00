// SPDX-License-Identifier: Apache-2.0
// Correct matrix products: orders of the sum, blocks, lanes and splits, and the arithmetic that each declares.
#include "tests/faults/corpus/held/matmul_held.h"

namespace corpus {
namespace {

// Sums become f32 before they are stored. To a 16-bit output that is a second rounding, of which "f64" promises that
// there is none: 297.000007 became 297 and then 296 in bf16. So it is before alpha, c and bias, which meet the sum in
// f32.
std::string WideContract(Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  const bool rounds_twice = s.y.dtype != plugin::kF32;
  const bool ends_in_f32 = s.alpha != 1 || s.beta != 0 || s.bias.input >= 0;
  const bool is_own = s.a.dtype == plugin::kI8 || s.IsF64() || rounds_twice || ends_in_f32;
  return is_own ? MatmulContract(op) : "f64;det=yes;batchinv=yes";
}

struct Row {
  const char* name;
  Summation sum;
  TextOf contract = nullptr;  // where it is not that of f32 sums
};

const Row kRows[] = {
    {"legal.backward-blocks-of-8", {.order = Order::kBackward, .block = 8}},
    {"legal.blocks-of-2-fma", {.block = 2, .fused = true}},
    {"legal.blocks-of-16-pairwise", {.block = 16, .combine = Combine::kPairwise}},
    {"legal.blocks-of-64-fma", {.block = 64, .fused = true}},
    {"legal.blocks-of-128-backward", {.block = 128, .combine = Combine::kBackward, .fused = true}},
    {"legal.blocks-of-256", {.block = 256}},
    {"legal.split-k-2-fma", {.parts = 2, .fused = true}},
    {"legal.split-k-16-blocks-of-4", {.parts = 16, .block = 4}},
    {"legal.split-k-64-by-halves", {.parts = 64, .combine = Combine::kByHalves}},
    {"legal.lanes-4-fma", {.lanes = 4, .fused = true}},
    {"legal.lanes-8-by-halves", {.lanes = 8, .combine = Combine::kByHalves, .fused = true}},
    {"legal.lanes-32-pairwise", {.lanes = 32, .combine = Combine::kPairwise}},
    {"legal.lanes-64-in-blocks-of-256", {.block = 256, .lanes = 64, .combine = Combine::kByHalves, .fused = true}},
    {"legal.groups-of-2", {.lanes = 2, .in_groups = true}},
    {"legal.groups-of-8-pairwise", {.lanes = 8, .in_groups = true, .combine = Combine::kPairwise}},
    {"legal.shuffled-seed-1-fma", {.order = Order::kShuffled, .seed = 1, .fused = true}},
    {"legal.shuffled-seed-2-lanes-4", {.order = Order::kShuffled, .seed = 2, .lanes = 4}},
    {"legal.bit-reversed", {.order = Order::kBitReversed}},
    {"legal.even-then-odd-fma", {.order = Order::kEvenThenOdd, .fused = true}},
    {"legal.from-both-ends", {.order = Order::kFromBothEnds}},
    {"legal.strided-32-blocks-of-32", {.order = Order::kStrided, .stride = 32, .block = 32}},
    {"legal.kahan", {.carry = Carry::kKahan}},
    {"legal.neumaier-lanes-4", {.lanes = 4, .carry = Carry::kNeumaier}},
    {"legal.exact-sum", {.carry = Carry::kExact}},
    {"legal.wide-accumulator", {.carry = Carry::kWide}, WideContract},
};

}  // namespace

std::vector<Entry> MatmulHeldLegal() {
  return MatmulRows([]<class T>(MatmulEdits<T>& of) {
    for (const Row& row : kRows) of(row.name, nullptr, row.contract).dot = DotIn<T>(row.sum, Region{});
  });
}

}  // namespace corpus
