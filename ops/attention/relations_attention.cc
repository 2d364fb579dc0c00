// SPDX-License-Identifier: Apache-2.0
// Relations of attention: sequences (or queries that all see all keys) alone or elsewhere, -v, other keys or values
// where a mask hides them, values that are all alike, and keys in another order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"
#include "ops/binding.h"
#include "ops/relations.h"

namespace assay {
namespace {

struct Keys {
  int64_t first = 0, last = 0;
};

bool Sees(const AttentionArgs& op, const ExecutedSet& executed, int64_t row, const Keys& keys) {
  const AttentionArgs::Range range = op.KeysOf(row);
  for (int64_t j = std::max(range.first, keys.first); j < std::min(range.last, keys.last); ++j) {
    if (op.mask == MaskKind::kNone) return true;
    const double mask = ValueAt(executed.inputs[3], op.MaskOffset(row) + j);
    if (op.mask == MaskKind::kBool ? mask != 0 : mask != -HUGE_VAL) return true;
  }
  return false;
}

// The keys that are hidden from some queries: of a few candidates those with the most (query, key) pairs.
std::optional<Keys> HiddenKeys(const AttentionArgs& op, const ExecutedSet& executed) {
  std::vector<Keys> candidates;
  for (const int64_t part : {4, 2}) candidates.push_back({op.s - op.s / part, op.s});
  for (const int64_t key : {int64_t{0}, op.s / 3, op.s / 2, op.s - 1}) candidates.push_back({key, key + 1});
  int64_t best = 0;
  std::optional<Keys> found;
  for (const Keys& keys : candidates) {
    int64_t hidden = 0;
    for (int64_t row = 0; row < op.Rows(); ++row) {
      const bool reads_some = Sees(op, executed, row, {0, op.s});
      if (reads_some && !Sees(op, executed, row, keys)) hidden += keys.last - keys.first;
    }
    if (hidden > best) best = hidden, found = keys;
  }
  return found;
}

// Replacement for the rows that a mask hides. Weights of zero make other values the same bits. Other keys may change
// bits, because a kernel may take its maximum before it masks; they are judged by the bound.
enum class Hidden : uint8_t { kOtherValues, kNanValues, kOtherKeys };

// Replaces hidden rows by their values times -0.75, or by NaN. Queries that see one of them may give anything.
std::optional<OtherExecution> WithOtherHidden(const ExecutedSet& executed, Hidden hidden) {
  const AttentionArgs op(executed.problem);
  const std::optional<Keys> keys = HiddenKeys(op, executed);
  if (!keys) return std::nullopt;
  OtherExecution other{.inputs = Clones(executed.inputs)};
  const int operand = hidden == Hidden::kOtherKeys ? 1 : 2;
  const int64_t width = operand == 1 ? op.d : op.dv;
  std::vector<double> values = other.inputs[operand].ToDoubles();
  for (int64_t head = 0; head < op.batch * op.hkv; ++head) {
    for (int64_t at = (head * op.s + keys->first) * width; at < (head * op.s + keys->last) * width; ++at) {
      if (!std::isfinite(values[at])) return std::nullopt;  // 0 * inf is NaN where all keys are multiplied
      values[at] = hidden == Hidden::kNanValues ? NAN : -0.75 * values[at];
    }
  }
  other.inputs[operand].SetDoubles(values);
  if (hidden == Hidden::kOtherKeys) {
    other.expected = executed.golden.value;
    other.tolerance = Tolerances(executed.golden, executed.bound);
  } else {
    other.expected = executed.output.ToDoubles();
    other.tolerance.assign(other.expected.size(), 0);
  }
  for (int64_t row = 0; row < op.Rows(); ++row) {
    if (!Sees(op, executed, row, *keys)) continue;
    std::fill_n(other.tolerance.begin() + row * op.dv, op.dv, std::numeric_limits<double>::infinity());
  }
  return other;
}

// Every value is the one of key 0: the weights sum to one, so that is the output.
std::optional<OtherExecution> WithEqualValues(const ExecutedSet& executed) {
  const AttentionArgs op(executed.problem);
  std::vector<Tensor> inputs = Clones(executed.inputs);
  std::vector<double> v = inputs[2].ToDoubles();
  for (int64_t head = 0; head < op.batch * op.hkv; ++head) {
    const auto first = v.begin() + head * op.s * op.dv;
    if (!std::all_of(first, first + op.dv, [](double x) { return std::isfinite(x); })) return std::nullopt;
    for (int64_t key = 1; key < op.s; ++key) std::copy_n(first, op.dv, first + key * op.dv);
  }
  inputs[2].SetDoubles(v);
  return JudgedByBound(executed, executed.problem, std::move(inputs));
}

// Every query sees every key.
bool AreAlike(const AttentionArgs& c) {
  return !c.causal && c.window == 0 && c.mask == MaskKind::kNone;
}

struct AttentionAxes {
  SliceAxes sequences, heads, queries, columns, keys;  // heads: of keys, with the queries that read them
};

AttentionAxes AttentionAxesOf(const AttentionArgs& c) {
  AttentionAxes all{.sequences = {.inputs = {0, 0, 0}, .output = 0, .extent = c.batch},
                    .heads = {.inputs = {1, 1, 1}, .output = 1, .extent = c.hkv},
                    .queries = {.inputs = {2, -1, -1}, .output = 2, .extent = c.causal || c.window != 0 ? 1 : c.l},
                    .columns = {.inputs = {-1, -1, 3}, .output = 3, .extent = c.dv},
                    .keys = {.inputs = {-1, 2, 2}, .output = -1, .extent = AreAlike(c) ? c.s : 1}};
  if (c.mask == MaskKind::kNone) return all;
  const bool own = c.mask_per_head;
  all.sequences.inputs.push_back(own ? 0 : -1), all.heads.inputs.push_back(own ? 1 : -1);
  all.queries.inputs.push_back(own ? 2 : 0), all.columns.inputs.push_back(-1);
  return all;
}

}  // namespace

std::vector<SliceAxes> AttentionSlices(const Problem& problem) {
  const auto [sequences, heads, queries, columns, keys] = AttentionAxesOf(AttentionArgs(problem));
  return Several({sequences, heads, queries, columns, keys});
}

std::vector<Relation> AttentionRelations(const Operator& op, const Problem& problem) {
  const AttentionArgs c(problem);
  const auto [sequences, heads, queries, columns, keys] = AttentionAxesOf(c);
  SliceAxes axes = sequences;
  std::function<AttrList(int64_t)> resized = [](int64_t count) { return AttrList{{"b", std::to_string(count)}}; };
  if (c.batch == 1 && AreAlike(c)) {
    axes = queries;
    resized = [s = c.s](int64_t count) { return AttrList{{"l", std::to_string(count)}, {"s", std::to_string(s)}}; };
  }
  std::vector<Relation> all;
  if (axes.extent > 1) all.push_back(Reversed("position", Claim::kBatchInvariant, axes));
  const auto add_hidden = [&](const char* name, Claim claim, Hidden hidden) {
    all.push_back({.name = name, .claim = claim, .make = [hidden](const ExecutedSet& executed) {
                     return WithOtherHidden(executed, hidden);
                   }});
  };
  add_hidden("masked", Claim::kDefinition, Hidden::kOtherValues);
  add_hidden("masked_keys", Claim::kBound, Hidden::kOtherKeys);
  all.push_back(Negated({2}));
  Append(all, Prefixes(op, problem, "batch", axes, resized));
  if (keys.extent > 1) all.push_back(TermOrder({keys}));
  all.push_back({.name = "equal_values", .claim = Claim::kBound, .needs_golden = true, .make = WithEqualValues});
  add_hidden("masked_nan", Claim::kNone, Hidden::kNanValues);
  return all;
}

}  // namespace assay
