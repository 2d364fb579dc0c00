// SPDX-License-Identifier: Apache-2.0
// Correct attention: tiles of keys, units that share them, orders of the sums.
#include "tests/faults/corpus/held/attention_held.h"

namespace corpus {
namespace {

struct Row {
  const char* name;
  int64_t tile = 0;
  bool backwards = false;
  int64_t units = 1;
  double slack = 0;
  bool in_base_2 = false;
  Summation dot{}, sum{};
};

const Row kRows[] = {
    {.name = "legal.flash-1", .tile = 1},
    {.name = "legal.flash-8-fma", .tile = 8, .dot = {.fused = true}},
    {.name = "legal.flash-48", .tile = 48},
    {.name = "legal.flash-96-exp2", .tile = 96, .in_base_2 = true},
    {.name = "legal.flash-256-lanes-8", .tile = 256, .dot = {.lanes = 8, .fused = true}, .sum = {.lanes = 8}},
    {.name = "legal.flash-32-backwards", .tile = 32, .backwards = true},
    {.name = "legal.flash-64-dot-blocks-16", .tile = 64, .dot = {.block = 16}},
    {.name = "legal.flash-128-rescales-seldom", .tile = 128, .slack = 8},
    {.name = "legal.split-keys-2", .tile = 16, .units = 2},
    {.name = "legal.split-keys-8-of-32", .tile = 32, .units = 8},
    {.name = "legal.split-keys-16-exp2", .tile = 8, .units = 16, .in_base_2 = true},
    {.name = "legal.materialised-by-halves",
     .dot = {.lanes = 16, .combine = Combine::kByHalves},
     .sum = {.lanes = 32, .combine = Combine::kByHalves}},
    {.name = "legal.materialised-shuffled",
     .dot = {.order = Order::kShuffled, .seed = 6},
     .sum = {.order = Order::kShuffled, .seed = 7}},
    {.name = "legal.materialised-exact-sums", .dot = {.carry = Carry::kExact}, .sum = {.carry = Carry::kExact}},
    {.name = "legal.materialised-kahan", .dot = {.carry = Carry::kKahan}, .sum = {.carry = Carry::kNeumaier}},
};

}  // namespace

std::vector<Entry> AttentionHeldLegal() {
  return AttentionRows([]<class T>(AttentionEdits<T>& of) {
    for (const Row& row : kRows) {
      AttentionKernel<T>& kernel = of(row.name);
      kernel.tile = row.tile, kernel.backwards = row.backwards, kernel.units = row.units;
      kernel.slack = static_cast<T>(row.slack), kernel.dot = DotBy<T>(row.dot), kernel.sum = TermsBy<T>(row.sum);
      if (!row.in_base_2) continue;
      kernel.exponential = [](T score, T max) {
        return std::exp2((score - max) * static_cast<T>(1.4426950408889634074L));
      };
    }
  });
}

}  // namespace corpus
