// SPDX-License-Identifier: Apache-2.0
// Matrix products that lose terms at the ends of blocks and limits, or bits in their sums.
#include "tests/faults/corpus/held/matmul_held.h"

namespace corpus {
namespace {

struct SumBug {
  const char* name;
  Summation sum;
  Region region{};
  plugin::DType only{};  // operands; none: every type that is not narrower than the bug
};

// Terms. The plain loop otherwise.
const SumBug kTermBugs[] = {
    {"fault.terms-beyond-255-ignored", {.lost = From(255)}},
    {"fault.terms-beyond-1024-ignored", {.lost = From(1024)}},
    {"fault.terms-beyond-2048-ignored", {.lost = From(2048)}},
    {"fault.last-term-lost-at-rest-1-of-8", {.lost = IfRest(8, 1)}},
    {"fault.last-term-lost-at-rest-1-of-64", {.lost = IfRest(64, 1)}},
    {"fault.last-term-lost-at-rest-1-of-128", {.lost = IfRest(128, 1)}},
    {"fault.last-term-lost-at-rest-127-of-128", {.lost = IfRest(128, 127)}},
    {"fault.last-term-doubled-at-rest-0-of-64", {.doubled = IfRest(64, 0)}},
    {"fault.first-term-doubled-in-last-column", {.doubled = First()}, {.columns = Last()}},
    {"fault.middle-term-lost-in-last-row", {.lost = Middle()}, {.rows = Last()}},
    {"fault.tail-of-16-lost-in-last-rows", {.lost = Tail(16)}, {.rows = Tail(8)}},
    {"fault.tail-of-4-doubled", {.doubled = Tail(4)}},
    {"fault.lane-63-of-64-lost", {.lost = Every(64, 63)}},
    {"fault.last-block-of-128-lost-in-later-batches", {.lost = LastBlock(128)}, {.batches = From(1)}},
    {"fault.last-term-lost-beyond-column-512", {.lost = Last()}, {.columns = From(512)}},
    {"fault.first-term-lost-in-odd-rows", {.lost = First()}, {.rows = Every(2, 1)}},
};

// Bits.
const SumBug kBitBugs[] = {
    {"fault.sums-toward-zero-in-f32", {.partial = TowardZero(kSingle)}, {}, plugin::kF32},
    {"fault.sums-of-20-bits", {.partial = NearestBits(20)}},
    {"fault.sums-truncated-to-22-bits", {.partial = TruncatedBits(22)}},
    {"fault.sums-in-tf32-every-8-terms", {.partial = Nearest(kTensor), .every = 8}},
    {"fault.sums-flushed-to-f16-every-64-terms", {.partial = Nearest(kHalf), .every = 64}},
    {"fault.sums-flushed-to-bf16-every-128-terms", {.partial = Nearest(kBrain), .every = 128}},
    {"fault.sums-in-f16-in-one-row", {.partial = Nearest(kHalf)}, {.rows = Middle()}},
    {"fault.sums-rounded-stochastically-to-bf16", {.partial = {Rounding::How::kStochastic, kBrain}, .every = 32}},
    {"fault.sums-rounded-down-to-18-bits", {.partial = {Rounding::How::kDown, {18, -126, 127}}}},
    {"fault.split-k-8-parts-in-tf32", {.parts = 8, .part = Nearest(kTensor)}},
    {"fault.split-k-2-parts-truncated-to-16-bits", {.parts = 2, .part = TruncatedBits(16)}},
    {"fault.blocks-of-64-handed-on-in-bf16", {.block = 64, .part = Nearest(kBrain)}},
    {"fault.products-of-14-bits", {.product = NearestBits(14)}},
    {"fault.products-truncated-to-18-bits", {.product = TruncatedBits(18)}},
    {"fault.products-flush-below-f16-range", {.product = {Rounding::How::kNearest, {53, -14, 1023}, true}}},
    {"fault.sums-beyond-f16-range-saturate", {.partial = {Rounding::How::kNearest, {24, -126, 15}, false, true}}},
    {"fault.f64-sums-flushed-to-f32-every-32-terms", {.partial = Nearest(kSingle), .every = 32}, {}, plugin::kF64},
    {"fault.f64-products-of-28-bits", {.product = Nearest({28, -1022, 1023})}, {}, plugin::kF64},
};

// Integers: the range of an accumulator as a format without fraction bits.
constexpr Rounding Saturating(int bits) {
  return {Rounding::How::kTowardZero, {bits, 0, bits - 1}, false, true};
}
const SumBug kIntegerBugs[] = {
    {"fault.i8-quads-saturate-in-i16", {.block = 4, .lanes = 4, .in_groups = true, .part = Saturating(15)}},
    {"fault.i8-sums-saturate-in-18-bits", {.partial = Saturating(18)}},
    {"fault.i8-sums-in-16-bits-of-f32", {.partial = NearestBits(16)}},
    {"fault.i8-products-in-bf16", {.product = Nearest(kBrain)}},
    {"fault.i8-sums-handed-on-in-f16", {.block = 64, .part = Nearest({11, -14, 30})}},
};

bool LosesBits(const SumBug& bug) {
  return !(bug.sum.partial.IsNone() && bug.sum.product.IsNone() && bug.sum.part.IsNone() &&
           bug.sum.carry == Carry::kNone);
}

template <class T>
void Fill(MatmulEdits<T>& of, std::span<const SumBug> bugs, bool integers) {
  for (const SumBug& bug : bugs) {
    const auto strikes = [bug, integers](const plugin::MatmulSpec& s) {
      const Summation& sum = bug.sum;
      if (integers != (s.a.dtype == plugin::kI8) && (integers || LosesBits(bug))) return false;
      if (bug.only.bits != 0 && !(bug.only == s.a.dtype)) return false;
      if (LosesBits(bug) && s.k < 2) return false;
      const bool any_terms = sum.lost.IsNone() && sum.doubled.IsNone();
      return (any_terms || sum.lost.Strikes(s.k) || sum.doubled.Strikes(s.k)) && bug.region.batches.Strikes(s.batch) &&
             bug.region.rows.Strikes(s.m) && bug.region.columns.Strikes(s.n);
    };
    of(bug.name, strikes).dot = DotIn<T>(bug.sum, bug.region);
  }
}

}  // namespace

std::vector<Entry> MatmulHeldSums() {
  return MatmulRows(
      [](auto& of) { Fill(of, kTermBugs, false), Fill(of, kBitBugs, false), Fill(of, kIntegerBugs, true); });
}

}  // namespace corpus
