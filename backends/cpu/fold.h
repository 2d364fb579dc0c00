// SPDX-License-Identifier: Apache-2.0
// Folding a stream of blocks with an associative operation, in the three orders that the backend offers. Every block
// but the last has kBlock elements, so that an order depends on the number of elements alone.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace cpu {

inline constexpr int64_t kBlock = 1024;

// The type in which T is added and multiplied: integers wrap around without being undefined.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <class T>
struct Add {
  static constexpr T kIdentity = -T{0};  // -0 + x is x for either zero
  T operator()(T a, T b) const { return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)); }
};

template <class T>
struct Multiply {
  static constexpr T kIdentity = T{1};
  T operator()(T a, T b) const { return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); }
};

// `kSign` 1: the greatest; -1: the least. NaN wins.
template <class T, int kSign>
struct Extreme {
  using Limits = std::numeric_limits<T>;
  static constexpr T kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  static constexpr T kHighest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  static constexpr T kIdentity = kSign > 0 ? kLowest : kHighest;
  T operator()(T a, T b) const { return a != a || (b == b && !(kSign > 0 ? b > a : b < a)) ? a : b; }
};

// Like Extreme, but NaN loses: the result is NaN only if all elements are.
template <class T, int kSign>
struct ExtremeNumber {
  static constexpr T kIdentity = std::numeric_limits<T>::quiet_NaN();
  T operator()(T a, T b) const { return b != b || (a == a && !(kSign > 0 ? b > a : b < a)) ? a : b; }
};

// One after the other.
template <class T, class Op>
class SequentialFold {
 public:
  void AddBlock(const T* x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) total_ = Op{}(total_, x[i]);
  }
  T Finish() const { return total_; }

 private:
  T total_ = Op::kIdentity;
};

// Sixteen interleaved lanes, combined as a tree at the end: the order that vector units use.
template <class T, class Op>
class StridedFold {
 public:
  void AddBlock(const T* x, int64_t count) {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes_[lane] = Op{}(lanes_[lane], x[i + lane]);
    }
    for (int64_t lane = 0; i + lane < count; ++lane) lanes_[lane] = Op{}(lanes_[lane], x[i + lane]);
  }
  T Finish() const {
    T lanes[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) lanes[i] = lanes_[i];
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lanes[i] = Op{}(lanes[i], lanes[i + half]);
    }
    return lanes[0];
  }

 private:
  static constexpr int64_t kLanes = 16;
  static_assert(kBlock % kLanes == 0);
  T lanes_[kLanes] = {Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity,
                      Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity,
                      Op::kIdentity, Op::kIdentity, Op::kIdentity, Op::kIdentity};
};

// A balanced tree: halves inside a block, and equal neighbours across blocks, kept like the digits of a counter.
template <class T, class Op>
class PairwiseFold {
 public:
  void AddBlock(const T* x, int64_t count) {
    T value = Tree(x, count);
    int level = 0;
    for (uint64_t digits = blocks_++; (digits & 1) != 0; digits >>= 1) value = Op{}(pending_[level++], value);
    pending_[level] = value;
  }
  T Finish() const {
    T total = Op::kIdentity;
    for (int level = 0; (blocks_ >> level) != 0; ++level) {
      if (((blocks_ >> level) & 1) != 0) total = Op{}(pending_[level], total);
    }
    return total;
  }

 private:
  static T Tree(const T* x, int64_t count) {
    constexpr int64_t kLeaf = 8;
    if (count > kLeaf) return Op{}(Tree(x, count / 2), Tree(x + count / 2, count - count / 2));
    T value = x[0];
    for (int64_t i = 1; i < count; ++i) value = Op{}(value, x[i]);
    return value;
  }
  std::array<T, 54> pending_{};  // 2^54 blocks are more than any memory holds
  uint64_t blocks_ = 0;
};

}  // namespace cpu
