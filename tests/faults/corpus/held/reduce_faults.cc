// SPDX-License-Identifier: Apache-2.0
// Reductions that lose terms at the ends of blocks and limits, or bits in their sums.
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

using Spec = const plugin::ReduceSpec&;

// Terms that are not seen or seen twice, in some of the outputs.
struct TermBug {
  const char* name;
  Which lost{}, doubled{};
  Which outputs = All();
};

constexpr TermBug kTermBugs[] = {
    {"fault.terms-beyond-127-ignored", From(127)},
    {"fault.terms-beyond-1023-ignored", From(1023)},
    {"fault.terms-beyond-65535-ignored", From(65535)},
    {"fault.last-term-lost-at-rest-1-of-4", IfRest(4, 1)},
    {"fault.last-term-lost-at-rest-1-of-128", IfRest(128, 1)},
    {"fault.last-term-lost-at-rest-0-of-8", IfRest(8, 0)},
    {"fault.tail-of-16-lost", Tail(16)},
    {"fault.last-block-of-256-lost-in-last-output", LastBlock(256), {}, Last()},
    {"fault.lane-31-of-32-lost", Every(32, 31)},
    {"fault.second-half-lost-in-odd-outputs", SecondHalf(), {}, Every(2, 1)},
    {"fault.first-term-lost-in-tail-outputs", First(), {}, Tail(32)},
    {"fault.tail-of-4-doubled", {}, Tail(4)},
    {"fault.last-term-doubled-at-rest-0-of-8", {}, IfRest(8, 0)},
    {"fault.middle-term-doubled", {}, Middle()},
    {"fault.lane-0-of-64-doubled-in-first-output", {}, Every(64, 0), First()},
};

// An extreme keeps its indices: what is lost can no longer win.
template <class T>
T WithoutTerms(const TermBug& bug, const std::vector<T>& x, const ReduceContext& c) {
  using enum ReduceKind;
  const ReduceKind kind = c.spec->kind;
  const bool selects = c.spec->SelectsElement(), max = kind == kMax || kind == kArgMax;
  const auto n = std::ssize(x);
  std::vector<T> seen;
  for (int64_t i = 0; i < n; ++i) {
    const T term = x[static_cast<size_t>(i)];
    if (!bug.lost.Has(i, n)) {
      seen.insert(seen.end(), bug.doubled.Has(i, n) ? 2 : 1, term);
    } else if (selects) {
      seen.push_back(max ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity());
    }
  }
  return seen.empty() ? T{0} : CleanReduce(seen, c);
}

template <class T>
void LostTerms(ReduceEdits<T>& of) {
  for (const TermBug& bug : kTermBugs) {
    // A term of an extreme that is seen twice is as good as once.
    const auto strikes = [bug](Spec s) {
      return s.count > 1 && (bug.doubled.IsNone() || !s.SelectsElement()) && bug.outputs.Strikes(s.outputs) &&
             (bug.lost.Strikes(s.count) || bug.doubled.Strikes(s.count));
    };
    of(bug.name, strikes).value = [bug](std::vector<T> x, const ReduceContext& c) {
      return bug.outputs.Has(c.output, c.spec->outputs) ? WithoutTerms(bug, x, c) : CleanReduce(std::move(x), c);
    };
  }
}

struct SumBug {
  const char* name;
  Summation sum;
  bool integers = false;
  plugin::DType only{};
};

constexpr Rounding Saturating(int bits) {
  return {Rounding::How::kTowardZero, {bits, 0, bits - 1}, false, true};
}

const SumBug kSumBugs[] = {
    {"fault.sums-toward-zero-in-f32", {.partial = TowardZero(kSingle)}, false, plugin::kF32},
    {"fault.sums-of-20-bits", {.partial = NearestBits(20)}},
    {"fault.sums-truncated-to-21-bits", {.partial = TruncatedBits(21)}},
    {"fault.sums-in-tf32-every-8-terms", {.partial = Nearest(kTensor), .every = 8}},
    {"fault.sums-flushed-to-f16-every-32-terms", {.partial = Nearest(kHalf), .every = 32}},
    {"fault.sums-flushed-to-bf16-every-64-terms", {.partial = Nearest(kBrain), .every = 64}},
    {"fault.sums-rounded-up-to-18-bits", {.partial = {Rounding::How::kUp, {18, -126, 127}}}},
    {"fault.sums-rounded-stochastically-to-16-bits", {.partial = {Rounding::How::kStochastic, {16, -126, 127}}}},
    {"fault.blocks-of-32-handed-on-in-f16", {.block = 32, .part = Nearest(kHalf)}},
    {"fault.halves-handed-on-in-bf16", {.parts = 2, .part = Nearest(kBrain)}},
    {"fault.sixteen-parts-truncated-to-14-bits", {.parts = 16, .part = TruncatedBits(14)}},
    {"fault.f64-sums-flushed-to-f32-every-16-terms", {.partial = Nearest(kSingle), .every = 16}, false, plugin::kF64},
    {"fault.i8-sums-saturate-in-12-bits", {.partial = Saturating(12)}, true},
    {"fault.i8-blocks-of-32-saturate-in-9-bits", {.block = 32, .part = Saturating(9)}, true},
    {"fault.i8-sums-in-bf16-every-128-terms", {.partial = Nearest(kBrain), .every = 128}, true},
    {"fault.i8-sums-in-11-bits-of-f16", {.partial = Nearest({11, -14, 30})}, true},
};

template <class T>
void Sums(ReduceEdits<T>& of) {
  for (const SumBug& bug : kSumBugs) {
    const auto strikes = [bug](Spec s) {
      const bool is_sum = IsOneOf(s, {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kL2, ReduceKind::kLogSumExp}, 2);
      return is_sum && plugin::IsFloat(s.in) != bug.integers && (bug.only.bits == 0 || bug.only == s.in);
    };
    of(bug.name, strikes).value = [bug](std::vector<T> x, const ReduceContext& c) {
      return ReduceBy(bug.sum, std::move(x), c);
    };
  }
}

}  // namespace

std::vector<Entry> ReduceHeldFaults() {
  // No output of the suites is as large as 16 bits count.
  const std::vector<IoBug> general = BugsOfEveryOperator({"fault.output-index-in-16-bits"});
  return Joined({ReduceRows([](auto& of) { LostTerms(of), Sums(of); }), ReduceIoBugs(general)});
}

}  // namespace corpus
