// SPDX-License-Identifier: Apache-2.0
// Attention with scores or probabilities in a narrower format, in the orders of published kernels. Where a probability
// exp(t - m) is rounded before the division by the sum, the result hangs on m, the largest score so far: on how many
// keys are taken at a time, from which end, and over how many units they are split.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/attention/attention.h"

namespace assay {
namespace {

struct Order {
  int64_t block = 0;  // keys at a time; 0: all of them
  int64_t units = 1;  // each has an equal share of the blocks
  bool backwards = false;
  bool divides_first = false;  // probabilities are rounded after the division
  bool sums_rounded = false;   // the divisor is the sum of the rounded probabilities
  bool rounds_scores = false, rounds_weights = true;
};

std::string TextOf(const Order& order) {
  if (order.rounds_scores) {
    if (!order.rounds_weights) return "scores";
    return order.divides_first ? "scores, and probabilities after the division" : "scores and probabilities";
  }
  if (order.divides_first) return "probabilities after the division by their sum";
  std::string text = "probabilities";
  if (order.block > 0) text += fmt::format(", {} key{} at a time", order.block, order.block > 1 ? "s" : "");
  if (order.units > 1) text += fmt::format(" in {} parts", order.units);
  if (order.backwards) text += " from the last on";
  return order.sums_rounded ? text + ", divided by the sum of the rounded ones" : text;
}

std::vector<Order> UsualOrders(int64_t keys) {
  std::vector<Order> orders{{.divides_first = true},
                            {.rounds_scores = true, .rounds_weights = false},
                            {.divides_first = true, .rounds_scores = true},
                            {.rounds_scores = true}};
  std::vector<int64_t> blocks{0, 64, 128, 32, 16, 8, 1};
  for (int64_t block = 48; block <= 256; block += 16) {
    if (block != 64 && block != 128) blocks.push_back(block);
  }
  for (const bool sums_rounded : {false, true}) {
    for (const int64_t block : blocks) {
      if (block >= keys) continue;
      orders.push_back({.block = block, .sums_rounded = sums_rounded});
      if (block == 0) continue;
      orders.push_back({.block = block, .backwards = true, .sums_rounded = sums_rounded});
      for (const int64_t units : {2, 4, 8}) {
        if (16 <= block && block <= 128 && block * units <= keys) {
          orders.push_back({.block = block, .units = units, .sums_rounded = sums_rounded});
        }
      }
    }
  }
  return orders;
}

class NarrowedAttention final : public NarrowedOrders {
 public:
  NarrowedAttention(const Problem& problem, std::span<const Tensor> inputs, const FloatFormat& format)
      : op_(problem), data_(op_, inputs), format_(format), orders_(UsualOrders(op_.s)) {
    for (const Order& order : orders_) texts_.push_back(TextOf(order));
  }

  const std::vector<std::string>& texts() const override { return texts_; }
  int64_t rows() const override { return op_.Rows(); }

  std::vector<Outputs> Row(int64_t row, std::span<const size_t> orders) const override {
    const AttentionRow r = ComputeRow(op_, data_, row);
    if (r.masked || r.undefined || r.unclear || r.may_be_nan || !data_.all_finite_v) return {};
    std::vector<Outputs> all;
    for (const size_t i : orders) all.push_back(Compute(orders_[i], row, r));
    return all;
  }

 private:
  struct Weights {
    std::vector<double> p, step;  // as the product with v reads them, and the rounding's spacing, both over the divisor
  };

  Outputs Compute(const Order& order, int64_t row, const AttentionRow& r) const {
    const auto n = std::ssize(r.keys);
    const Weights w = order.rounds_scores ? FromScores(order, r) : order.divides_first ? Divided(r) : Running(order, r);
    Outputs out{std::vector<double>(op_.dv), std::vector<double>(op_.dv), n};
    const double* head = data_.v.data() + op_.KeyHead(row) * op_.s * op_.dv;
    for (int64_t j = 0; j < n; ++j) {
      const double* v = head + r.keys[j] * op_.dv;
      for (int64_t c = 0; c < op_.dv; ++c) {
        out.value[c] += w.p[j] * v[c];
        out.step[c] = std::max(out.step[c], w.step[j] * std::fabs(v[c]));
      }
    }
    return out;
  }

  Weights Divided(const AttentionRow& r) const {
    Weights w;
    for (const double p : r.p) {
      w.p.push_back(RoundTo(format_, p));
      w.step.push_back(UlpAt(format_, p));
    }
    return w;
  }

  Weights FromScores(const Order& order, const AttentionRow& r) const {
    Weights w;
    double total = 0, top = -kInfinity;
    for (const double t : r.t) top = std::max(top, RoundTo(format_, r.largest + t));
    for (const double t : r.t) {
      w.p.push_back(std::exp(RoundTo(format_, r.largest + t) - top));
      total += w.p.back();
    }
    for (size_t j = 0; j < w.p.size(); ++j) {
      double& p = w.p[j];
      const double moved = UlpAt(format_, r.largest + r.t[j]) * p;  // by the score; the probability's is less
      if (order.rounds_weights) p = order.divides_first ? total * RoundTo(format_, p / total) : RoundTo(format_, p);
      p /= total;
      w.step.push_back(moved / total);
    }
    return w;
  }

  // The largest score so far, relative to that of all keys, when each key's probability is rounded.
  std::vector<double> RunningMaxima(const Order& order, const AttentionRow& r) const {
    const auto n = std::ssize(r.keys);
    const int64_t block = order.block > 0 ? order.block : op_.s, blocks = (op_.s + block - 1) / block;
    const int64_t share = (blocks + order.units - 1) / order.units;
    std::vector<double> maxima(r.keys.size());
    double largest = -kInfinity;
    for (int64_t i = 0; i < n;) {
      const auto at = [&](int64_t k) { return order.backwards ? n - 1 - k : k; };
      const int64_t mine = r.keys[at(i)] / block;
      if (i > 0 && mine / share != r.keys[at(i - 1)] / block / share) largest = -kInfinity;
      int64_t end = i;
      for (; end < n && r.keys[at(end)] / block == mine; ++end) largest = std::max(largest, r.t[at(end)]);
      for (; i < end; ++i) maxima[at(i)] = largest;
    }
    return maxima;
  }

  Weights Running(const Order& order, const AttentionRow& r) const {
    const std::vector<double> maxima = RunningMaxima(order, r);
    Weights w;
    double total = 0;
    for (size_t j = 0; j < r.t.size(); ++j) {
      const double p = std::exp(r.t[j] - maxima[j]), rounded = RoundTo(format_, p), factor = std::exp(maxima[j]);
      w.p.push_back(rounded * factor);
      w.step.push_back(UlpAt(format_, p) * factor);
      total += (order.sums_rounded ? rounded : p) * factor;
    }
    for (size_t j = 0; j < w.p.size(); ++j) w.p[j] /= total, w.step[j] /= total;
    return w;
  }

  const AttentionArgs op_;
  const AttentionData data_;
  const FloatFormat format_;
  const std::vector<Order> orders_;
  std::vector<std::string> texts_;
};

}  // namespace

std::unique_ptr<NarrowedOrders> AttentionOrders(const Problem& problem, std::span<const Tensor> inputs,
                                                const FloatFormat& format) {
  return std::make_unique<NarrowedAttention>(problem, inputs, format);
}

}  // namespace assay
