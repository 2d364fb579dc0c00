// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/attention.h"

#include <algorithm>
#include <cmath>

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
    if (keys_.empty()) return std::vector<double>(static_cast<size_t>(op_.dv), op_.masked_nan ? NAN : 0.0);
    for (int64_t key : keys_) scores_.push_back(Score(key));
    return form_.block == 0 ? AtOnce() : ByBlocks();
  }

 private:
  double In(int operand, int64_t i) const { return f_.unit.Operand(type_, ValueAt(inputs_[operand], i)); }
  double V(int64_t key, int64_t c) const { return In(2, (head_ * op_.s + key) * op_.dv + c); }

  void FindKeys() {
    AttentionCase::Range range = op_.KeysOf(row_);
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

  double Exp(double x, double max) const {
    if (!form_.base2) return f_.Exp(f_.unit.Add(x, -max));
    const double log2e = f_.unit.Round(1.4426950408889634);
    return f_.Exp(f_.unit.Add(f_.unit.Mul(x, log2e), -f_.unit.Mul(max, log2e)) * 0.6931471805599453);
  }

  double Weighted(std::span<const double> p, size_t first, int64_t c) const {
    std::vector<double> v;
    for (size_t i = 0; i < p.size(); ++i) v.push_back(V(keys_[first + i], c));
    return Sum(p, v, form_.schedule, f_.unit);
  }

  std::vector<double> AtOnce() const {
    const double max = *std::ranges::max_element(scores_);
    std::vector<double> p, o;
    for (double s : scores_) p.push_back(Exp(s, max));
    const double total = Sum(p, {}, form_.schedule, f_.unit);
    for (double& x : p) x = Narrowed(contract_, form_.normalise ? f_.Div(x, total) : x);
    for (int64_t c = 0; c < op_.dv; ++c) {
      const double y = Weighted(p, 0, c);
      o.push_back(f_.unit.Out(type_, form_.normalise ? y : f_.Div(y, total)));
    }
    return o;
  }

  std::vector<double> ByBlocks() const {
    std::vector<double> o(static_cast<size_t>(op_.dv), 0.0);
    double max = -kInf, total = 0;
    const auto block = static_cast<size_t>(form_.block);
    for (size_t first = 0; first < scores_.size(); first += block) {
      const size_t last = std::min(scores_.size(), first + block);
      const double top = std::max(max, *std::max_element(scores_.begin() + first, scores_.begin() + last));
      const double rescale = max == -kInf ? 0 : Exp(max, top);
      std::vector<double> p;
      for (size_t i = first; i < last; ++i) p.push_back(Exp(scores_[i], top));
      total = f_.unit.Add(f_.unit.Mul(total, rescale), Sum(p, {}, form_.schedule, f_.unit));
      for (double& x : p) x = Narrowed(contract_, x);
      for (int64_t c = 0; c < op_.dv; ++c) o[c] = f_.unit.Add(f_.unit.Mul(o[c], rescale), Weighted(p, first, c));
      max = top;
    }
    const double inverse = f_.Div(1, total);
    for (double& x : o) x = f_.unit.Out(type_, form_.normalise ? f_.unit.Mul(x, inverse) : f_.Div(x, total));
    return o;
  }

  const AttentionCase op_;
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

std::vector<double> RunAttentionRow(const Problem& problem, std::span<const Tensor> inputs, int64_t row,
                                    const Contract& contract, const AttentionForm& form, const AttentionFault& fault) {
  return Row(problem, inputs, row, contract, form, fault).Run();
}

}  // namespace assay::test
