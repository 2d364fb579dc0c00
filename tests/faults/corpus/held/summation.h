// SPDX-License-Identifier: Apache-2.0
// A sum of terms or of products as data: the order, how terms are spread over accumulators, how these are put together,
// in which arithmetic; and what a bug changes of it. A correct schedule and a fault differ in nothing but this.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/faults/corpus/rounding.h"
#include "tests/faults/corpus/which.h"

namespace corpus {

enum class Order { kForward, kBackward, kStrided, kShuffled, kEvenThenOdd, kFromBothEnds, kBitReversed };
enum class Combine { kForward, kBackward, kPairwise, kByHalves };
enum class Carry { kNone, kKahan, kNeumaier, kWide, kExact };

struct Summation {
  Order order = Order::kForward;
  int64_t stride = 1;      // of kStrided
  uint64_t seed = 0;       // of kShuffled
  int64_t parts = 1;       // equal stretches of the terms, each with a sum of its own
  int64_t block = 0;       // terms of a stretch that are summed apart; 0: all
  int64_t lanes = 1;       // accumulators of a block: term i goes to number i mod lanes
  bool in_groups = false;  // of lanes: neighbouring products are added first, then their sum to one accumulator
  Combine combine = Combine::kForward;  // of parts, of blocks, of lanes
  bool fused = false;                   // multiply-add with one rounding
  Carry carry = Carry::kNone;

  // The following members are the bugs.
  Which lost, doubled;        // terms
  Rounding product, partial;  // of every product; of an accumulator
  int64_t every = 1;          // terms between two roundings of an accumulator
  Rounding part;              // of what a block hands on; a stretch without blocks is one
};

// The order as indices. Orders are made once per thread.
inline const std::vector<int64_t>& IndicesOf(const Summation& s, int64_t n) {
  thread_local std::map<std::tuple<Order, int64_t, uint64_t, int64_t>, std::vector<int64_t>> known;
  const auto [place, is_new] = known.try_emplace({s.order, s.stride, s.seed, n});
  std::vector<int64_t>& order = place->second;
  if (!is_new) return order;
  order.resize(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto by = [&](auto key) { std::ranges::stable_sort(order, {}, key); };
  if (s.order == Order::kBackward) std::ranges::reverse(order);
  if (s.order == Order::kStrided) by([&](int64_t i) { return i % s.stride; });
  if (s.order == Order::kEvenThenOdd) by([](int64_t i) { return i % 2; });
  if (s.order == Order::kFromBothEnds) by([n](int64_t i) { return std::min(i, n - 1 - i); });
  if (s.order == Order::kBitReversed) {
    by([](int64_t i) {
      int64_t reversed = 0;
      for (int bit = 0; bit < 31; ++bit) reversed |= (i >> bit & 1) << (30 - bit);
      return reversed;
    });
  }
  if (s.order == Order::kShuffled) {
    std::mt19937_64 random(s.seed * 1000003 + static_cast<uint64_t>(n));
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }
  return order;
}

// The partial sums put together.
template <class T>
T Combined(Combine how, std::vector<T> x) {
  if (x.empty()) return 0;
  if (how == Combine::kBackward) std::ranges::reverse(x);
  while (how == Combine::kByHalves && x.size() > 1) {  // number i takes number i + half
    const size_t half = (x.size() + 1) / 2;
    for (size_t i = 0; i + half < x.size(); ++i) x[i] += x[i + half];
    x.resize(half);
  }
  while (how == Combine::kPairwise && x.size() > 1) {  // neighbours
    for (size_t i = 0; i < x.size(); i += 2) x[i / 2] = i + 1 < x.size() ? x[i] + x[i + 1] : x[i];
    x.resize((x.size() + 1) / 2);
  }
  T sum = x[0];
  for (size_t i = 1; i < x.size(); ++i) sum += x[i];
  return sum;
}

// One running sum in the arithmetic that `Summation` says. What a bug rounds has more bits before than f32 has.
template <class T>
class Accumulator {
 public:
  explicit Accumulator(const Summation& s) : s_(s) {}

  void AddProduct(T a, T b) {
    if (s_.carry == Carry::kExact) {
      const Wider x = a, y = b, product = x * y;
      AddExactly(product);
      if (std::isfinite(product)) AddExactly(std::fma(x, y, -product));
    } else if (s_.carry == Carry::kWide) {
      wide_ += static_cast<long double>(a) * static_cast<long double>(b);
    } else if (s_.fused) {
      sum_ = std::fma(a, b, static_cast<T>(sum_));
    } else if (s_.product.IsNone()) {
      Add(a * b);
    } else {
      Add(static_cast<T>(Rounded(s_.product, static_cast<Wider>(a) * static_cast<Wider>(b))));
    }
  }

  void Add(T term) {
    if (s_.carry == Carry::kExact) {
      AddExactly(term);
    } else if (s_.carry == Carry::kWide) {
      wide_ += static_cast<long double>(term);
    } else if (s_.carry == Carry::kKahan) {
      const T sum = static_cast<T>(sum_), corrected = term - lost_, total = sum + corrected;
      lost_ = std::isfinite(total) ? (total - sum) - corrected : T{0};
      sum_ = total;
    } else if (s_.carry == Carry::kNeumaier) {
      const T sum = static_cast<T>(sum_), total = sum + term, back = total - sum;
      if (std::isfinite(total)) lost_ += (sum - (total - back)) + (term - back);
      sum_ = total;
    } else {
      sum_ += static_cast<Wider>(term);
      const bool is_due = !s_.partial.IsNone() && ++since_ % s_.every == 0;
      sum_ = is_due ? Rounded(s_.partial, sum_) : static_cast<T>(sum_);
    }
  }

  T Value() const {
    if (s_.carry == Carry::kWide) return static_cast<T>(wide_);
    if (s_.carry == Carry::kExact) return ExactValue();
    const T sum = static_cast<T>(sum_);
    return s_.carry == Carry::kNeumaier && std::isfinite(sum) ? sum + lost_ : sum;
  }

 private:
  using Wider = std::conditional_t<std::is_same_v<T, float>, double, T>;

  // Shewchuk's expansion: numbers that do not overlap, whose sum is the exact one. They have the range of the wider
  // type: a sum that overflows T is infinite in the end, not NaN on the way.
  void AddExactly(Wider x) {
    sum_ += x;
    if (!std::isfinite(x) || !std::isfinite(sum_)) return;
    size_t kept = 0;
    for (Wider y : expansion_) {
      if (std::abs(x) < std::abs(y)) std::swap(x, y);
      const Wider high = x + y, low = y - (high - x);
      if (low != 0) expansion_[kept++] = low;
      x = high;
    }
    expansion_.resize(kept);
    expansion_.push_back(x);
  }
  T ExactValue() const {
    if (!std::isfinite(sum_)) return static_cast<T>(sum_);
    Wider sum = 0;
    for (const Wider part : expansion_) sum += part;
    return static_cast<T>(sum);
  }

  const Summation& s_;
  Wider sum_ = 0;
  T lost_ = 0;
  long double wide_ = 0;
  std::vector<Wider> expansion_;
  int64_t since_ = 0;
};

// Terms [first, last) of the order, over the lanes. `b` null: a sum of the elements of a.
template <class T>
T BlockSum(const Summation& s, const T* a, const T* b, const std::vector<int64_t>& order, int64_t first, int64_t last) {
  std::vector<Accumulator<T>> lanes(static_cast<size_t>(s.in_groups ? 1 : s.lanes), Accumulator<T>(s));
  const auto n = std::ssize(order);
  std::vector<T> group;
  for (int64_t at = first; at < last; ++at) {
    const int64_t i = order[static_cast<size_t>(at)];
    if (s.lost.Has(i, n)) continue;
    for (int times = s.doubled.Has(i, n) ? 2 : 1; times > 0; --times) {
      if (s.in_groups) {
        group.push_back(b == nullptr ? a[i] : Rounded(s.product, a[i] * b[i]));
      } else if (b == nullptr) {
        lanes[static_cast<size_t>((at - first) % s.lanes)].Add(a[i]);
      } else {
        lanes[static_cast<size_t>((at - first) % s.lanes)].AddProduct(a[i], b[i]);
      }
    }
    if (s.in_groups && (std::ssize(group) >= s.lanes || at + 1 == last)) {
      lanes[0].Add(Combined(s.combine, std::exchange(group, {})));
    }
  }
  if (s.in_groups && !group.empty()) lanes[0].Add(Combined(s.combine, group));
  std::vector<T> sums;
  for (const auto& lane : lanes) sums.push_back(lane.Value());
  return Combined(s.combine, sums);
}

template <class T>
T SumOf(const Summation& s, const T* a, const T* b, int64_t n) {
  const std::vector<int64_t>& order = IndicesOf(s, n);
  std::vector<T> parts;
  for (int64_t p = 0; p < s.parts; ++p) {
    const int64_t first = n * p / s.parts, last = n * (p + 1) / s.parts;
    const int64_t step = s.block > 0 ? s.block : std::max<int64_t>(1, last - first);
    std::vector<T> blocks;
    for (int64_t i = first; i < last; i += step) {
      blocks.push_back(Rounded(s.part, BlockSum(s, a, b, order, i, std::min(last, i + step))));
    }
    if (!blocks.empty()) parts.push_back(Combined(s.combine, blocks));
  }
  return Combined(s.combine, parts);
}

// The sum as a step of a kernel: of products, or of terms.
template <class T>
auto DotBy(const Summation& sum) {
  return [sum](const T* a, const T* b, int64_t n) { return SumOf(sum, a, b, n); };
}
template <class T>
auto TermsBy(const Summation& sum) {
  return [sum](const std::vector<T>& x) { return SumOf<T>(sum, x.data(), nullptr, std::ssize(x)); };
}

}  // namespace corpus
