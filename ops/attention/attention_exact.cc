// SPDX-License-Identifier: Apache-2.0
// Twins and omitted terms of attention. v of the twin is zero but for one column per key, j mod dv, which holds a coded
// integer that depends on key and head: a missing, leaked or misplaced key shows in its own column, where few others
// cover it. Variant 0 has scores of zero from non-zero q and k: queries that see 2^j keys then have p = 2^-j exactly,
// and a faithful unit (math <= 1) gives exact results. Variant 1 has scores -scale to -4 scale, and 0 of one key, so
// that scale and q/k heads matter; its middle row is so steep that this key alone has a weight, and anything that is
// added to the sum of its exponentials, 1, shows. Where a result cannot be exact it may be off by the operator's own
// hard bound on the twin's data.
#include <algorithm>
#include <cmath>
#include <map>

#include "ops/attention/attention.h"
#include "ops/binding.h"
#include "ops/exact_code.h"

namespace assay {
namespace {

enum AttentionStream : uint64_t { kKeyCode = 32, kScoreCode };

double ValueCode(const AttentionArgs& op, int64_t head, int64_t key, int variant) {
  const int64_t magnitude = 1 + (key * 5 + head * 3 + variant) % 7;
  const bool negative = TwinFactor(kKeyCode + static_cast<uint64_t>(variant), head * op.s + key, 2) == 1;
  return static_cast<double>(negative ? -magnitude : magnitude);
}

// Value of q that puts scores beyond kDead where k is -1; 1 where a cap or a small scale does not let it.
double SteepFactor(const AttentionArgs& op) {
  constexpr double kMost = 4096;  // whose products f16 holds
  const double factor = std::exp2(std::ceil(std::log2(1.1 * kDead / std::abs(op.scale))));
  const bool capped = op.softcap > 0 && op.softcap < 2 * kDead;
  return capped || factor > kMost ? 1 : std::copysign(std::max(1.0, factor), op.scale);
}

// A key that causality and window leave visible to the middle row.
int64_t LiveKey(const AttentionArgs& op) {
  const AttentionArgs::Range keys = op.KeysOf(op.l / 2);
  return std::min(op.s - 1, (keys.first + keys.last) / 2);
}

// q lives in even dimensions, k in odd ones: products are zero, though no operand is. Variant 1 adds one pair.
void SetScores(const AttentionArgs& op, int variant, Tensor& q, Tensor& k) {
  std::vector<double> qs(static_cast<size_t>(q.size())), ks(static_cast<size_t>(k.size()));
  const auto code = [&](int64_t i) { return static_cast<double>(TwinFactor(kScoreCode, i, 3)); };
  for (int64_t row = 0; row < op.Rows(); ++row) {
    for (int64_t c = 0; c + 1 < op.d; c += 2) qs[row * op.d + c] = code(row + c);
    if (variant == 1)
      qs[row * op.d] = row % op.l == op.l / 2 ? SteepFactor(op) : 1 + static_cast<double>(row / op.l % 2);
  }
  for (int64_t key = 0; key < op.batch * op.hkv * op.s; ++key) {
    for (int64_t c = 1; c < op.d; c += 2) ks[key * op.d + c] = -code(key + c);
    const bool live = key % op.s == LiveKey(op);
    if (variant == 1) ks[key * op.d] = live ? 0 : -static_cast<double>(TwinFactor(kScoreCode + 1, key, 2));
  }
  q.SetDoubles(qs);
  k.SetDoubles(ks);
}

Tensor CodedValues(const AttentionArgs& op, const Operand& operand, int variant) {
  Tensor v(operand.dtype, operand.shape);
  std::vector<double> values(static_cast<size_t>(v.size()));
  for (int64_t key = 0; key < op.batch * op.hkv * op.s; ++key) {
    values[key * op.dv + (key % op.s) % op.dv] = ValueCode(op, key / op.s, key % op.s, variant);
  }
  v.SetDoubles(values);
  return v;
}

// Whether every legal order gives p and the sums of query `row` exactly, up to the output's rounding.
bool IsExact(const AttentionArgs& op, const AttentionData& data, const Contract& contract, int64_t row) {
  if (contract.math_ulp > 1 || contract.out != OutputRounding::kNearest || contract.ftz != Flush::kNone) return false;
  const auto seen = static_cast<double>(ComputeRow(op, data, row).keys.size());
  const double largest_sum = 8 * seen, held = std::ldexp(1.0, contract.AccExactBits());
  return seen > 0 && std::exp2(std::round(std::log2(seen))) == seen && largest_sum < held;
}

// The twin's golden and bound are the operator's own.
void Expect(const Problem& problem, const Contract& contract, bool exact_rows, Twin& twin) {
  const AttentionArgs op(problem);
  const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
  const Tier tier = problem.outputs[0].dtype == DType::kF64 ? Tier::kReproducible : Tier::kFast;
  const Golden golden = AttentionGolden(problem, twin.inputs, tier);
  const BoundModel bound = AttentionBound(problem, golden, contract);
  const AttentionData data(op, twin.inputs);
  twin.expected = golden.value;
  twin.costly = true;
  twin.tolerances.resize(twin.expected.size());
  for (int64_t row = 0; row < op.Rows(); ++row) {
    const bool exact = exact_rows && IsExact(op, data, contract, row);
    for (int64_t i = row * op.dv; i < (row + 1) * op.dv; ++i) {
      if (exact) {
        // Small dyadic numbers: double holds them to the last bit once the golden's own 1e-16 is cut off.
        const double unit = 0x1p-40;
        twin.expected[i] = RoundTo(format, std::round(golden.value[i] / unit) * unit);
      } else if (std::isfinite(twin.expected[i])) {
        twin.tolerances[i] = bound.LargestToleranceAt(golden, i) / UlpAt(format, twin.expected[i]);
      }
    }
  }
}

}  // namespace

std::optional<Twin> AttentionTwin(const Problem& problem, const Contract& contract, int variant) {
  const AttentionArgs op(problem);
  if (contract.alg != Algorithm::kDirect) return std::nullopt;
  Twin twin;
  for (const Operand& operand : problem.inputs) twin.inputs.emplace_back(operand.dtype, operand.shape);
  SetScores(op, variant, twin.inputs[0], twin.inputs[1]);
  twin.inputs[2] = CodedValues(op, problem.inputs[2], variant);
  // The case's own pattern of visible keys, so that every key that matters there matters here.
  if (op.mask != MaskKind::kNone) twin.inputs[3] = MakeAttentionMask(op, problem.inputs[3], problem.spec.seed, true);
  Expect(problem, contract, variant == 0, twin);
  twin.code = "column c shows the keys j with j mod dv = c";
  return twin;
}

std::vector<Mutant> AttentionOmittedTerms(const Problem& problem, std::span<const Tensor> inputs,
                                          std::span<const double> values, std::span<const int64_t> outputs) {
  const AttentionArgs op(problem);
  const AttentionData data(op, inputs, AttentionData::For::kTerms);
  const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
  std::vector<Mutant> mutants;
  std::map<int64_t, AttentionRow> done;
  for (int64_t output : outputs) {
    const int64_t row = output / op.dv;
    const auto [entry, fresh] = done.try_emplace(row);
    if (!fresh) continue;
    const AttentionRow& r = entry->second = ComputeRow(op, data, row);
    if (r.masked || r.undefined || r.unclear) continue;
    for (int64_t term : SampledTerms(std::ssize(r.keys), row)) {
      const int64_t key = r.keys[term];
      const double* v = data.v.data() + (op.KeyHead(row) * op.s + key) * op.dv;
      // The key is missing from the whole row; it is told where it shows best.
      Mutant best{.index = -1, .value = 0, .key = row * op.s + key};
      double shown = -1;
      for (int64_t c = 0; c < op.dv; ++c) {
        const double o = values[row * op.dv + c], wrong = (o - r.p[term] * v[c]) / (1 - r.p[term]);
        const double change = r.keys.size() == 1 ? HUGE_VAL : std::abs(wrong - o);
        if (std::isnan(o) || !(change > shown)) continue;
        shown = change;
        best.index = row * op.dv + c;
        best.value = r.keys.size() == 1 ? std::numeric_limits<double>::quiet_NaN() : wrong;
      }
      // A key too light to change any rounded result is out of any comparison's sight.
      if (best.index < 0 || RoundTo(format, best.value) == RoundTo(format, values[best.index])) continue;
      mutants.push_back(best);
    }
  }
  return mutants;
}

}  // namespace assay
