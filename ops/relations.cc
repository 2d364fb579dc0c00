// SPDX-License-Identifier: Apache-2.0
#include "ops/relations.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "golden/element.h"
#include "harness/core/base/check.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

// All in reverse order; of an odd number the first stays, or every slice would keep a place of the same parity, as
// tiles and lanes see it.
std::vector<int64_t> ReverseOrder(int64_t extent) {
  std::vector<int64_t> indices;
  const int64_t last = extent % 2 == 0 ? extent - 1 : extent;
  for (int64_t i = 0; i < extent; ++i) indices.push_back((last - i) % extent);
  return indices;
}

// Whether some order of the terms, or the rounding of the result, may leave the range of finite numbers.
bool MayOverflow(const Golden& golden, const BoundModel& bound, int64_t i) {
  return PartialOverflowAt(bound, golden, i).Any() ||
         (bound.overflow_at > 0 && std::abs(golden.value[i]) + bound.At(golden, i) >= bound.overflow_at);
}

// Slices of the inputs, and the same ones of the output that is there. `problem`: of another number of slices.
Relation Slices(std::string name, Claim claim, const SliceAxes& axes, std::vector<int64_t> indices,
                std::optional<Problem> problem = {}) {
  Relation relation{.name = std::move(name), .claim = claim, .problem = problem, .make = nullptr};
  relation.make = [axes, indices = std::move(indices), problem = std::move(problem)](const ExecutedSet& executed) {
    OtherExecution other;
    for (size_t i = 0; i < executed.inputs.size(); ++i) {
      const int64_t axis = axes.inputs[i];
      other.inputs.push_back(axis < 0 ? executed.inputs[i].Clone() : TakeAlong(executed.inputs[i], axis, indices));
      if (problem) other.inputs.back().Reshape(problem->inputs[i].shape);  // an axis of extent 1 may be left out
    }
    other.expected = TakeAlong(executed.output, axes.output, indices).ToDoubles();
    return std::optional(std::move(other));
  };
  return relation;
}

struct Magnitudes {
  double low = kInfinity, high = 0;  // of what is not zero
  bool finite = true;
};

Magnitudes MagnitudesOf(const Tensor& tensor) {
  Magnitudes m;
  for (const double x : tensor.ToDoubles()) {
    m.finite = m.finite && std::isfinite(x);
    if (x != 0) m.low = std::min(m.low, std::abs(x)), m.high = std::max(m.high, std::abs(x));
  }
  return m;
}

// Whether no product, no part of one (an intermediate sum that cancels holds at least the last bit of its terms) and no
// sum leaves the accumulator's normal numbers, before or after scaling by `factor`.
bool StaysNormal(const ScaleSpec& spec, const ExecutedSet& executed, double factor) {
  double low = spec.gain_low, high = spec.gain_high * spec.terms;
  for (const int i : spec.factors) {
    const Magnitudes m = MagnitudesOf(executed.inputs[i]);
    if (!m.finite) return false;
    if (m.high == 0) continue;
    low *= m.low * 0x1p-25, high *= 2 * m.high;
  }
  for (const int i : spec.scaled) {
    const Magnitudes m = MagnitudesOf(executed.inputs[i]);
    const DType type = executed.inputs[i].dtype();
    if (!m.finite || m.high * factor > FormatOf(type).max_finite) return false;
    high += 2 * m.high;
  }
  const Contract& contract = executed.contract;
  return low >= contract.AccMinNormal() && high * factor < contract.AccMaxFinite() / 4;
}

std::optional<OtherExecution> MakeScaled(const ScaleSpec& spec, const ExecutedSet& executed) {
  if (!IsFloat(executed.inputs[0].dtype()) && !IsComplex(executed.inputs[0].dtype())) return std::nullopt;
  double factor = 64;
  while (factor > 1 && !StaysNormal(spec, executed, factor)) factor /= factor == 64 ? 32 : 2;
  if (factor <= 1) return std::nullopt;
  OtherExecution other{.inputs = Clones(executed.inputs)};
  for (const int i : spec.scaled) other.inputs[i] = Times(executed.inputs[i], factor);
  other.expected = executed.output.ToDoubles();
  other.tolerance.assign(other.expected.size(), 0);
  const FloatFormat& out = FormatOf(executed.output.dtype());
  for (size_t i = 0; i < other.expected.size(); ++i) {
    double& y = other.expected[i];
    // A zero may be a number that the output cannot hold.
    if (y == 0) other.tolerance[i] = factor * out.MinNormal();
    // The smallest normal number may have been rounded from a subnormal one, where the steps are coarser.
    const bool normal = std::abs(y) > out.MinNormal() && std::abs(y) < out.max_finite / factor;
    if (y != 0 && !normal) other.tolerance[i] = kInfinity;
    y *= factor;
  }
  return other;
}

// The lowest integer of a type has no negative: it saturates. Beyond 2^53 doubles do not hold every integer.
bool NegatesExactly(const Tensor& tensor) {
  if (!IsInt(tensor.dtype())) return true;
  const std::vector<double> values = tensor.ToDoubles(), negated = Times(tensor, -1).ToDoubles();
  return std::ranges::equal(values, negated, [](double x, double y) { return x == -y && std::fabs(x) < 0x1p53; });
}

}  // namespace

std::vector<double> Tolerances(const Golden& golden, const BoundModel& bound) {
  std::vector<double> tolerance;
  for (int64_t i = 0; i < golden.size(); ++i) {
    // The low part of the golden value is not the result's error.
    const double low = golden.value_lo.empty() || bound.exact ? 0 : std::abs(golden.value_lo[i]);
    const bool open = bound.AlsoAt(i) != 0 || !std::isfinite(golden.value[i]) || MayOverflow(golden, bound, i);
    tolerance.push_back(open ? kInfinity : bound.LargestToleranceAt(golden, i) + low);
  }
  return tolerance;
}

bool IsClaimed(Claim claim, const Contract& contract, DType in) {
  const bool nearest = contract.RoundsToNearest() && contract.acc != Accumulator::kTensorCore &&
                       contract.mid == Intermediate::kNone && contract.in != InputRounding::kFP8 &&
                       contract.ftz == Flush::kNone;
  switch (claim) {
    case Claim::kNone:
      return false;
    case Claim::kBatchInvariant:
      return contract.batch_invariant;
    case Claim::kSymmetric:
    case Claim::kScalable:
      return contract.deterministic && nearest;
    case Claim::kDefinition:
      return contract.deterministic && contract.in != InputRounding::kFP8;
    case Claim::kBound:
      return true;
    case Claim::kCopies: {
      const int bits = IsInt(in) ? 8 * SizeOf(in) - 1 : FormatOf(in).precision;
      return nearest && contract.alg == Algorithm::kDirect && InputRoundoff(contract, in) == 0 &&
             contract.AccExactBits() >= bits;
    }
  }
  return false;
}

std::optional<Problem> TryRebind(const Operator& op, const Problem& problem, const AttrList& changes) {
  CaseSpec spec = problem.spec;
  for (const auto& [key, value] : changes) {
    const auto at = std::ranges::find(spec.attrs, key, &AttrList::value_type::first);
    if (at == spec.attrs.end()) {
      spec.attrs.emplace_back(key, value);
    } else {
      at->second = value;
    }
  }
  Result<Problem> bound = op.Bind(spec);
  if (!bound) return std::nullopt;
  return *std::move(bound);
}

Problem Rebind(const Operator& op, const Problem& problem, const AttrList& changes) {
  std::optional<Problem> bound = TryRebind(op, problem, changes);
  ASSAY_CHECK(bound.has_value());
  return *std::move(bound);
}

Relation Reversed(std::string name, Claim claim, const SliceAxes& axes) {
  return Slices(std::move(name), claim, axes, ReverseOrder(axes.extent));
}

Relation TermOrder(std::vector<SliceAxes> axes) {
  Relation relation{.name = "term_order", .claim = Claim::kBound, .make = nullptr};
  relation.make = [axes = std::move(axes)](const ExecutedSet& executed) {
    OtherExecution other{.inputs = Clones(executed.inputs), .expected = executed.golden.value};
    for (const SliceAxes& of : axes) {
      for (size_t i = 0; i < of.inputs.size(); ++i) {
        if (of.inputs[i] < 0) continue;
        other.inputs[i] = TakeAlong(other.inputs[i], of.inputs[i], ReverseOrder(of.extent));
      }
    }
    other.tolerance = Tolerances(executed.golden, executed.bound);
    return std::optional(std::move(other));
  };
  return relation;
}

namespace {

// Whether so many slices are cheap beside other cases.
bool IsCheap(const Problem& problem, const SliceAxes& axes, int64_t count) {
  constexpr double kMostFlops = 2e6, kMostBytes = 1 << 20;
  const double growth = static_cast<double>(count) / static_cast<double>(axes.extent);
  return problem.flops * growth <= kMostFlops && problem.bytes * growth <= kMostBytes;
}

}  // namespace

std::vector<Relation> Prefixes(const Operator& op, const Problem& problem, const std::string& name,
                               const SliceAxes& axes, const std::function<AttrList(int64_t)>& resized) {
  std::vector<Relation> relations;
  const int64_t half = (axes.extent + 1) / 2;
  const auto add = [&](const std::string& suffix, int64_t count) {
    std::optional<Problem> other = TryRebind(op, problem, resized(count));
    if (!other) return;
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i) indices.push_back(i % axes.extent);
    relations.push_back(Slices(name + suffix, Claim::kBatchInvariant, axes, std::move(indices), *std::move(other)));
  };
  if (axes.extent > 1) add("1", 1);
  if (axes.extent > 2) add("_part", half);
  for (const int64_t count : {7, 17}) {
    if (count < axes.extent && count != half) add(std::to_string(count), count);
  }
  // Kernels are chosen by the number of rows: whole tiles, and one row beyond those of every usual size.
  for (const int64_t count : {64, 129}) {
    if (axes.extent > 1 && count > axes.extent && IsCheap(problem, axes, count)) add(std::to_string(count), count);
  }
  return relations;
}

Relation Negated(std::vector<int> scaled, double sign) {
  Relation relation{.name = "negation", .claim = Claim::kSymmetric, .make = nullptr};
  relation.make = [scaled = std::move(scaled), sign](const ExecutedSet& executed) -> std::optional<OtherExecution> {
    OtherExecution other{.inputs = Clones(executed.inputs)};
    for (const int i : scaled) {
      if (!NegatesExactly(executed.inputs[i])) return std::nullopt;
      other.inputs[i] = Times(executed.inputs[i], -1);
    }
    if (!NegatesExactly(executed.output)) return std::nullopt;  // it may have been saturated
    other.expected = executed.output.ToDoubles();
    for (double& y : other.expected) y *= sign;
    return other;
  };
  return relation;
}

Relation Scaled(Claim claim, const ScaleSpec& spec) {
  return {.name = "scale", .claim = claim, .make = [spec](const ExecutedSet& executed) {
            return MakeScaled(spec, executed);
          }};
}

OtherExecution JudgedByBound(const ExecutedSet& executed, const Problem& problem, std::vector<Tensor> inputs) {
  const Golden golden = executed.op.ComputeGolden(problem, executed.number, inputs, executed.golden.tier);
  const BoundModel bound = executed.op.Bound(problem, executed.number, golden, executed.contract);
  OtherExecution other{.inputs = std::move(inputs), .expected = golden.value};
  other.tolerance = Tolerances(golden, bound);
  return other;
}

Tensor Times(const Tensor& tensor, double factor) {
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) x *= factor;
  Tensor scaled(tensor.dtype(), tensor.shape());
  scaled.SetDoubles(values);
  return scaled;
}

std::vector<Tensor> Clones(std::span<const Tensor> tensors) {
  std::vector<Tensor> clones;
  for (const Tensor& t : tensors) clones.push_back(t.Clone());
  return clones;
}

bool AllFinite(const Tensor& tensor) {
  return MagnitudesOf(tensor).finite;
}

void Append(std::vector<Relation>& all, std::vector<Relation> more) {
  std::ranges::move(more, std::back_inserter(all));
}

}  // namespace assay
