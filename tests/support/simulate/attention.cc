// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/attention.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "ops/binding.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

class Row {
 public:
  Row(const Problem& problem, std::span<const Tensor> inputs, int64_t row, const Contract& contract,
      const AttentionForm& form, const AttentionFault& fault)
      : op_(problem),
        inputs_(inputs),
        row_(row),
        contract_(contract),
        form_(form),
        fault_(fault),
        f_(contract, form.bias, form.schedule.seed),
        type_(problem.inputs[0].dtype) {
    head_ = op_.KeyHead(row);
    if (fault.next_kv_head) head_ = head_ / op_.hkv * op_.hkv + (head_ + 1) % op_.hkv;
    FindKeys();
  }

  std::vector<double> Run() {
    if (keys_.empty()) return Hidden();
    for (int64_t key : keys_) scores_.push_back(Score(key));
    if (form_.units > 1) return ByUnits();
    return form_.block == 0 ? AtOnce() : ByBlocks();
  }

 private:
  double In(int operand, int64_t i) const { return f_.unit.Operand(type_, ValueAt(inputs_[operand], i)); }
  double V(int64_t key, int64_t c) const { return In(2, (head_ * op_.s + key) * op_.dv + c); }

  // Kernels tell a row that sees nothing by its sum of zero, whatever made it so.
  std::vector<double> Hidden() const {
    return std::vector<double>(static_cast<size_t>(op_.dv), op_.masked_nan ? NAN : 0.0);
  }

  void FindKeys() {
    AttentionArgs::Range range = op_.KeysOf(row_);
    if (fault_.leak_next) range.last = std::min(op_.s, range.last + 1);
    for (int64_t j = range.first; j < range.last; ++j) {
      const double m = op_.mask == MaskKind::kNone ? 1 : ValueAt(inputs_[3], op_.MaskOffset(row_) + j);
      if (op_.mask == MaskKind::kBool ? m != 0 : m != -kInf) keys_.push_back(j);
    }
    if (fault_.drop_first && !keys_.empty()) keys_.erase(keys_.begin());
    if (fault_.drop_last && !keys_.empty()) keys_.pop_back();
  }

  double Score(int64_t key) const {
    const double scale = f_.unit.Round(op_.scale * fault_.scale);
    std::vector<double> q, k;
    for (int64_t c = 0; c < op_.d; ++c) {
      q.push_back(In(0, row_ * op_.d + c));
      if (form_.scale_q) q.back() = f_.unit.Mul(q.back(), scale);
      k.push_back(In(1, (head_ * op_.s + key) * op_.d + c));
    }
    double s = Sum(q, k, form_.schedule, f_.unit);
    if (!form_.scale_q) s = f_.unit.Mul(s, scale);
    if (op_.softcap > 0) s = f_.unit.Mul(op_.softcap, f_.Tanh(f_.unit.Round(s / op_.softcap)));
    s = Narrowed(contract_, s);
    if (op_.mask == MaskKind::kAdd)
      s = f_.unit.Add(s, f_.unit.In(type_, ValueAt(inputs_[3], op_.MaskOffset(row_) + key)));
    return s;
  }

  double Log2E() const { return f_.unit.Round(std::numbers::log2e); }
  double Exp2(double x) const { return f_.Exp(x * std::numbers::ln2); }
  // Where all that was seen is -inf, in units of ln 2 at the latest, kernels subtract zero.
  static double Known(double max) { return max == -kInf ? 0 : max; }
  double Exp(double x, double max) const {
    if (!form_.base2) return f_.Exp(f_.unit.Add(x, -Known(max)));
    const double below = Known(f_.unit.Mul(max, Log2E()));
    return Exp2(form_.fused ? f_.unit.Fma(x, Log2E(), -below) : f_.unit.Add(f_.unit.Mul(x, Log2E()), -below));
  }

  double Weighted(std::span<const double> p, std::span<const size_t> seen, int64_t c) const {
    std::vector<double> v;
    for (size_t i = 0; i < p.size(); ++i) v.push_back(V(keys_[seen[i]], c));
    return Sum(p, v, form_.schedule, f_.unit);
  }

  std::vector<double> AtOnce() const {
    const double max = *std::ranges::max_element(scores_);
    std::vector<double> p, o;
    for (double s : scores_) p.push_back(Exp(s, max));
    const double total = Sum(p, {}, form_.schedule, f_.unit);
    if (total == 0) return Hidden();
    for (double& x : p) x = Narrowed(contract_, form_.normalise ? f_.Div(x, total) : x);
    for (int64_t c = 0; c < op_.dv; ++c) {
      const double y = Weighted(p, Every(), c);
      o.push_back(f_.unit.Out(type_, form_.normalise ? y : f_.Div(y, total)));
    }
    return o;
  }

  std::vector<double> ByBlocks() const {
    Part all = Unit(Every());
    if (all.total == 0) return Hidden();
    const double inverse = f_.Div(1, all.total);
    for (double& x : all.o) {
      x = f_.unit.Out(type_, form_.normalise ? f_.unit.Mul(x, inverse) : f_.Div(x, all.total));
    }
    return all.o;
  }

  // Partial result of a unit over its keys: their maximum, the sum of exp(score - maximum), and that of its products
  // with v.
  struct Part {
    double max = -kInf, total = 0;
    std::vector<double> o;
  };

  Part Unit(std::span<const size_t> keys) const {
    Part part{.o = std::vector<double>(static_cast<size_t>(op_.dv), 0.0)};
    const size_t block = form_.block == 0 ? keys.size() : static_cast<size_t>(form_.block);
    for (size_t first = 0; first < keys.size(); first += block) {
      const auto seen = keys.subspan(first, std::min(block, keys.size() - first));
      double top = part.max;
      for (const size_t i : seen) top = std::max(top, scores_[i]);
      const double rescale = part.max == -kInf ? 0 : Exp(part.max, top);
      std::vector<double> p;
      for (const size_t i : seen) p.push_back(Exp(scores_[i], top));
      part.total = f_.unit.Add(f_.unit.Mul(part.total, rescale), Sum(p, {}, form_.schedule, f_.unit));
      for (double& x : p) x = Narrowed(contract_, x);
      for (int64_t c = 0; c < op_.dv; ++c) {
        part.o[c] = f_.unit.Add(f_.unit.Mul(part.o[c], rescale), Weighted(p, seen, c));
      }
      part.max = top;
    }
    return part;
  }

  std::vector<size_t> Every() const {
    std::vector<size_t> keys(scores_.size());
    std::iota(keys.begin(), keys.end(), size_t{0});
    return keys;
  }

  std::vector<double> ByUnits() const {
    const size_t n = scores_.size(), units = std::min(n, static_cast<size_t>(form_.units));
    std::vector<Part> parts;
    for (size_t unit = 0; unit < units; ++unit) {
      std::vector<size_t> keys;
      for (size_t i = 0; i < n; ++i) {
        if ((form_.strided ? i % units : i * units / n) == unit) keys.push_back(i);
      }
      parts.push_back(Unit(keys));
    }
    if (std::ranges::all_of(parts, [](const Part& part) { return part.total == 0; })) return Hidden();
    return form_.join == UnitJoin::kSums ? JoinBySums(parts) : JoinByLogSums(std::move(parts));
  }

  // sum of w x over the parts, in the schedule's order.
  template <class Of>
  double Joined(const std::vector<double>& w, const std::vector<Part>& parts, Of of) const {
    std::vector<double> x;
    for (const Part& part : parts) x.push_back(of(part));
    return Sum(w, x, form_.schedule, f_.unit);
  }

  std::vector<double> JoinBySums(const std::vector<Part>& parts) const {
    double top = -kInf;
    for (const Part& part : parts) top = std::max(top, part.max);
    std::vector<double> w, o;
    for (const Part& part : parts) w.push_back(Exp(part.max, top));
    const double total = Joined(w, parts, [](const Part& part) { return part.total; });
    for (int64_t c = 0; c < op_.dv; ++c) {
      o.push_back(f_.unit.Out(type_, f_.Div(Joined(w, parts, [&](const Part& part) { return part.o[c]; }), total)));
    }
    return o;
  }

  // In units of ln 2 the maximum's product with log2 e is that of the exponents: its rounding is no error then.
  double LogSum(double max, double total) const {
    if (!InBase2()) return f_.unit.Add(max, f_.Log(total));
    return f_.unit.Add(max, f_.Of(std::log2(total)));
  }
  bool InBase2() const { return form_.base2 && !form_.natural_joins; }
  double Weight(double x, double top) const {
    return InBase2() ? Exp2(f_.unit.Add(x, -top)) : f_.Exp(f_.unit.Add(x, -top));
  }

  std::vector<double> JoinByLogSums(std::vector<Part> parts) const {
    std::vector<double> log_sums, w, o;
    for (Part& part : parts) {
      log_sums.push_back(LogSum(InBase2() ? f_.unit.Mul(part.max, Log2E()) : part.max, part.total));
      for (double& x : part.o) x = part.total == 0 ? 0 : f_.Div(x, part.total);  // of no keys there is no weight
    }
    const auto weigh = [&](double top) {
      w.clear();
      for (const double x : log_sums) w.push_back(Weight(x, top));
    };
    const double top = *std::ranges::max_element(log_sums);
    weigh(top);
    const double total = Sum(w, {}, form_.schedule, f_.unit);
    const bool of_all = form_.join == UnitJoin::kLogSumOfAll;
    if (of_all) weigh(LogSum(top, total));
    for (int64_t c = 0; c < op_.dv; ++c) {
      const double y = Joined(w, parts, [&](const Part& part) { return part.o[c]; });
      o.push_back(f_.unit.Out(type_, of_all ? y : f_.Div(y, total)));
    }
    return o;
  }

  const AttentionArgs op_;
  std::span<const Tensor> inputs_;
  int64_t row_, head_ = 0;
  const Contract& contract_;
  const AttentionForm& form_;
  const AttentionFault& fault_;
  const FunctionUnit f_;
  DType type_;
  std::vector<int64_t> keys_;
  std::vector<double> scores_;
};

}  // namespace

std::vector<AttentionForm> AllAttentionForms(uint64_t seed) {
  std::vector<AttentionForm> forms;
  int turn = 0;
  for (Bias bias : kBiases) {
    for (int64_t block : {0, 16, 29, 64}) {
      for (Order order : {Order::kSequential, Order::kReverse, Order::kPairwise, Order::kRandom}) {
        ++turn;
        forms.push_back({{order, turn % 3 == 0, seed}, bias, block, turn % 2 == 0, turn % 5 < 2, turn % 7 < 3});
      }
    }
  }
  return forms;
}

std::vector<AttentionForm> AllUnitForms(uint64_t seed, int64_t most) {
  std::vector<AttentionForm> forms;
  unsigned turn = 0;
  for (const Bias bias : kBiases) {
    for (const int64_t units : {2, 3, 4, 8, 16, 64}) {
      if (units > most) continue;
      for (const UnitJoin join : {UnitJoin::kSums, UnitJoin::kLogSums, UnitJoin::kLogSumOfAll}) {
        for (const int base : {0, 1, 2}) {  // e, e after exponentials of base 2, 2
          const unsigned at = turn++;
          forms.push_back({.schedule = {kOrders[at % std::size(kOrders)], at % 3 == 0, seed},
                           .bias = bias,
                           .block = at % 2 == 0 ? 0 : 16,
                           .base2 = base > 0,
                           .scale_q = at % 7 < 3,
                           .units = units,
                           .strided = at % 5 < 2,
                           .join = join,
                           .fused = at % 4 < 2,
                           .natural_joins = base == 1});
        }
      }
    }
  }
  return forms;
}

std::vector<double> RunAttentionRow(const Problem& problem, std::span<const Tensor> inputs, int64_t row,
                                    const Contract& contract, const AttentionForm& form, const AttentionFault& fault) {
  return Row(problem, inputs, row, contract, form, fault).Run();
}

std::vector<double> RunAttention(const Problem& problem, std::span<const Tensor> inputs, const Contract& contract,
                                 const AttentionForm& form) {
  std::vector<double> results;
  for (int64_t row = 0; row < AttentionArgs(problem).Rows(); ++row) {
    for (const double y : RunAttentionRow(problem, inputs, row, contract, form)) results.push_back(y);
  }
  return results;
}

}  // namespace assay::test
