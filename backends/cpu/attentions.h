// SPDX-License-Identifier: Apache-2.0
// Relatives of attention: keys on pages, sequences one behind the other, sinks, slopes, log-sums, merging, gradients.
// One query at a time with all of its scores, or with a running maximum from the last key on, as blocked kernels do.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/experts.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/rows.h"

namespace cpu {

// Sum of products, from the first term or from the last one on.
template <bool kBackward, class Acc>
Acc DotOf(std::span<const Acc> x, std::span<const Acc> y) {
  Acc sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t at = kBackward ? x.size() - 1 - i : i;
    sum += x[at] * y[at];
  }
  return sum;
}

// o = the average of value(key) by exp(score(key)) over these keys; 0 of none. `sink`: a score without a value;
// -infinity: none. Returns the greatest score and the sum of exp(score - greatest).
template <bool kOnline, class Acc, class Score, class Value>
std::pair<Acc, Acc> AverageOf(const std::vector<int64_t>& keys, Acc sink, const Score& score, const Value& value,
                              std::span<Acc> o) {
  constexpr Acc kNone = -std::numeric_limits<Acc>::infinity();
  Acc greatest = sink, sum = kOnline && sink != kNone ? 1 : 0;
  std::ranges::fill(o, Acc{0});
  const auto add = [&](int64_t key, Acc weight) {
    const std::span<const Acc> of_key = value(key);
    for (size_t i = 0; i < o.size(); ++i) o[i] += weight * of_key[i];
    sum += weight;
  };
  std::vector<Acc> scores(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) scores[i] = score(keys[i]);
  for (size_t i = keys.size(); kOnline && i-- > 0;) {
    const Acc greater = Extreme<Acc, 1>{}(greatest, scores[i]);
    if (greater == kNone) continue;
    const Acc rescaled = greater == greatest ? 1 : std::exp(greatest - greater);
    for (Acc& element : o) element *= rescaled;
    sum *= rescaled;
    greatest = greater;
    add(keys[i], std::exp(scores[i] - greatest));
  }
  for (const Acc x : scores) greatest = Extreme<Acc, 1>{}(greatest, x);
  for (size_t i = 0; i < keys.size() && !kOnline; ++i) add(keys[i], std::exp(scores[i] - greatest));
  if (!kOnline && sink != kNone) sum += std::exp(sink - greatest);
  for (Acc& element : o) element = keys.empty() ? 0 : element / sum;
  return {greatest, sum};
}

struct Attending : public Experts {
  static void IgnoreShapes(const plugin::OpDesc& op) {
    op.MayIgnore({"b", "h", "hkv", "l", "s", "d", "dv", "pages", "page", "blocks", "t", "sequences"});
  }
  // `size`: elements of q and k.
  Attending(const plugin::OpDesc& op, int64_t size) : Experts(op), scale_(op.AttrFloat("scale")) {
    if (scale_ == 0) scale_ = 1 / std::sqrt(static_cast<double>(size));
  }
  // The product of a query, scaled before it, and a key, or scaled behind it.
  template <bool kBackward, class Acc>
  Acc ScoreOf(std::span<const Acc> q, std::span<const Acc> k) const {
    const auto scale = static_cast<Acc>(scale_);
    if (kBackward) return DotOf<true>(q, k) * scale;
    std::vector<Acc> scaled(q.begin(), q.end());
    for (Acc& x : scaled) x *= scale;
    return DotOf<false, Acc>(scaled, k);
  }
  double scale_;
};

// q [b,h,l,d], k [b,hkv,s,d], v [b,hkv,s,dv]: what a query sees.
struct BatchAttending : public Attending {
  explicit BatchAttending(const plugin::OpDesc& op)
      : Attending(op, op.inputs()[0].shape[3]),
        h(op.inputs()[0].shape[1]),
        l(op.inputs()[0].shape[2]),
        d(op.inputs()[0].shape[3]),
        hkv(op.inputs()[1].shape[1]),
        s(op.inputs()[1].shape[2]),
        dv(op.inputs()[2].shape[3]),
        causal_(op.AttrInt("causal") != 0),
        window_(op.name() == "sink_attention" ? op.AttrInt("window") : 0) {}
  std::vector<int64_t> KeysOf(int64_t query) const {
    const int64_t stands = query + s - l;
    std::vector<int64_t> keys;
    for (int64_t key = 0; key < s; ++key) {
      if ((!causal_ || key <= stands) && (window_ == 0 || key > stands - window_)) keys.push_back(key);
    }
    return keys;
  }
  // The key head, counted over batches, of a query head, counted likewise.
  int64_t KeyHead(int64_t head) const { return head / h * hkv + head % h * hkv / h; }

  int64_t h, l, d, hkv, s, dv;
  bool causal_;
  int64_t window_;
};

// attention_lse, sink_attention, alibi_attention.
template <bool kOnline>
struct BatchAttention : public BatchAttending {
  explicit BatchAttention(const plugin::OpDesc& op)
      : BatchAttending(op), has_sinks_(op.name() == "sink_attention"), has_slopes_(op.name() == "alibi_attention") {}
  static size_t Outputs(const plugin::OpDesc& op) { return op.name() == "attention_lse" ? 2 : 1; }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const int64_t heads = std::ssize(y[0]) / std::max<int64_t>(l * dv, 1);
    for (int64_t i = 0; i < heads * l; ++i) {
      const int64_t head = i / l, query = i % l, keys = KeyHead(head) * s;
      const Acc of_head = has_sinks_ || has_slopes_ ? x[3][head % h] : Acc{0};
      const auto score = [&](int64_t key) {
        const Acc product = ScoreOf<kOnline>(x[0].subspan(i * d, d), x[1].subspan((keys + key) * d, d));
        return has_slopes_ ? product - of_head * static_cast<Acc>(std::abs(query + s - l - key)) : product;
      };
      const auto value = [&](int64_t key) { return x[2].subspan((keys + key) * dv, dv); };
      const Acc sink = has_sinks_ ? of_head : -std::numeric_limits<Acc>::infinity();
      const auto [greatest, sum] = AverageOf<kOnline, Acc>(KeysOf(query), sink, score, value, y[0].subspan(i * dv, dv));
      if (y.size() > 1) y[1][i] = greatest + std::log(sum);
    }
  }
  bool has_sinks_, has_slopes_;
};

// dq, dk and dv: by the weights of each query, divided by their total, or key by key by exp(score - lse).
template <bool kByLse>
struct AttentionBackward : public BatchAttending {
  using BatchAttending::BatchAttending;
  static size_t Outputs(const plugin::OpDesc&) { return 3; }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    for (const std::span<Acc>& output : y) std::ranges::fill(output, Acc{0});
    const int64_t queries = std::ssize(x[0]) / d;
    for (int64_t n = 0; n < queries; ++n) AddQuery(x, y, kByLse ? queries - 1 - n : n);
    for (const size_t output : {0, 1}) {
      for (Acc& element : y[output]) element *= static_cast<Acc>(scale_);
    }
  }

 private:
  template <class Acc>
  void AddQuery(const Lines<Acc>& x, const Results<Acc>& y, int64_t query) const {
    const int64_t first = KeyHead(query / l) * s;
    const std::vector<int64_t> keys = KeysOf(query % l);
    const std::span<const Acc> q = x[0].subspan(query * d, d), dout = x[3].subspan(query * dv, dv);
    std::vector<Acc> p(keys.size()), e(keys.size());
    Acc greatest = -std::numeric_limits<Acc>::infinity(), total = 0, mean = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      p[i] = ScoreOf<kByLse>(q, x[1].subspan((first + keys[i]) * d, d));
      e[i] = DotOf<kByLse>(dout, x[2].subspan((first + keys[i]) * dv, dv));
      greatest = Extreme<Acc, 1>{}(greatest, p[i]);
    }
    for (const Acc score : p) total += std::exp(score - greatest);
    const Acc lse = greatest + std::log(total);
    for (Acc& score : p) score = kByLse ? std::exp(score - lse) : std::exp(score - greatest) / total;
    for (size_t i = 0; i < keys.size(); ++i) mean += p[i] * e[i];
    for (size_t i = 0; i < keys.size(); ++i) {
      const int64_t key = first + keys[i];
      const Acc g = p[i] * (e[i] - mean);
      for (int64_t j = 0; j < d; ++j) {
        y[0][query * d + j] += g * x[1][key * d + j];
        y[1][key * d + j] += g * q[j];
      }
      for (int64_t j = 0; j < dv; ++j) y[2][key * dv + j] += p[i] * dout[j];
    }
  }
};

// q [b,h,d], keys and values [pages,page,hkv,d], table [b,blocks], lengths [b].
template <bool kOnline>
struct PagedDecode : public Attending {
  explicit PagedDecode(const plugin::OpDesc& op) : Attending(op, op.inputs()[0].shape[2]) {}
  static bool Takes(const plugin::OpDesc& op) {
    return TakesIntegers(op, {3, 4},
                         std::max(op.inputs()[1].shape[0], op.inputs()[3].shape[1] * op.inputs()[1].shape[1]));
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t h = Extent(0, 1), d = Extent(0, 2), pages = Extent(1, 0), page = Extent(1, 1), hkv = Extent(1, 2);
    const int64_t blocks = Extent(3, 1);
    for (int64_t i = 0; i < Extent(0, 0) * h; ++i) {
      std::vector<int64_t> places(static_cast<size_t>(Place(x[4][i / h], blocks * page + 1)));
      for (int64_t n = 0; n < std::ssize(places); ++n) {
        const int64_t on = Place(x[3][i / h * blocks + n / page], pages);
        places[n] = ((on * page + n % page) * hkv + i % h * hkv / h) * d;
      }
      const auto score = [&](int64_t at) { return ScoreOf<kOnline>(x[0].subspan(i * d, d), x[1].subspan(at, d)); };
      const auto value = [&](int64_t at) { return x[2].subspan(at, d); };
      AverageOf<kOnline, Acc>(places, -std::numeric_limits<Acc>::infinity(), score, value, y.subspan(i * d, d));
    }
  }
};

// q [t,h,d], k and v [s,hkv,d], q_ends and k_ends [sequences].
template <bool kOnline>
struct RaggedAttention : public Attending {
  explicit RaggedAttention(const plugin::OpDesc& op)
      : Attending(op, op.inputs()[0].shape[2]), causal_(op.AttrInt("causal") != 0) {}
  static bool Takes(const plugin::OpDesc& op) {
    return TakesIntegers(op, {3, 4}, std::max(op.inputs()[0].shape[0], op.inputs()[1].shape[0]));
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t h = Extent(0, 1), d = Extent(0, 2), hkv = Extent(1, 1);
    for (int64_t i = 0; i < Extent(0, 0) * h; ++i) {
      const int64_t query = i / h;
      const int64_t sequence = std::ranges::upper_bound(x[3], static_cast<Acc>(query)) - x[3].begin();
      const auto end = static_cast<int64_t>(x[4][sequence]);
      const int64_t last = causal_ ? end - (static_cast<int64_t>(x[3][sequence]) - query) + 1 : end;
      std::vector<int64_t> places;
      for (int64_t key = sequence == 0 ? 0 : static_cast<int64_t>(x[4][sequence - 1]); key < last; ++key) {
        places.push_back((key * hkv + i % h * hkv / h) * d);
      }
      const auto score = [&](int64_t at) { return ScoreOf<kOnline>(x[0].subspan(i * d, d), x[1].subspan(at, d)); };
      const auto value = [&](int64_t at) { return x[2].subspan(at, d); };
      AverageOf<kOnline, Acc>(places, -std::numeric_limits<Acc>::infinity(), score, value, y.subspan(i * d, d));
    }
  }
  bool causal_;
};

// o_parts [parts,rows,n], lse_parts [parts,rows] -> o [rows,n], lse [rows]: all parts at once, or one after the other
// merged into what there is.
template <bool kOneByOne>
struct LseMerge : public Experts {
  using Experts::Experts;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"parts", "rows", "n"}); }
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static bool Takes(const plugin::OpDesc& op) { return op.AllTypes(plugin::IsFloat); }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const int64_t parts = Extent(0, 0), rows = Extent(0, 1), n = Extent(0, 2);
    constexpr Acc kNone = -std::numeric_limits<Acc>::infinity();
    for (int64_t row = 0; row < rows; ++row) {
      const auto score = [&](int64_t part) { return x[1][part * rows + row]; };
      std::vector<int64_t> with_keys;
      for (int64_t part = 0; part < parts; ++part) {
        if (score(part) != kNone) with_keys.push_back(part);
      }
      const auto value = [&](int64_t part) { return x[0].subspan((part * rows + row) * n, n); };
      const std::span<Acc> o = y[0].subspan(row * n, n);
      const auto [greatest, sum] = AverageOf<kOneByOne, Acc>(with_keys, kNone, score, value, o);
      y[1][row] = greatest == kNone ? kNone : greatest + std::log(sum);
      if (greatest == kNone) std::ranges::fill(o, Acc{0});
    }
  }
};

}  // namespace cpu
