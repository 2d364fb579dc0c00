// SPDX-License-Identifier: Apache-2.0
// Positions of an extent that a bug strikes, as data: the last one, those behind the last whole block, those behind a
// limit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace corpus {

// Whether `test` holds at one of the positions where such bugs begin: near the ends, the middle and powers of two. All
// positions of an extent may be millions.
template <class Test>
bool AnyProbe(int64_t n, Test test) {
  constexpr int64_t kNear = 300;
  const auto any = [&](int64_t first, int64_t last) {
    for (int64_t i = std::max<int64_t>(first, 0); i < std::min(last, n); ++i) {
      if (test(i)) return true;
    }
    return false;
  };
  if (any(0, kNear) || any(n - kNear, n) || any(n / 2 - 2, n / 2 + 2)) return true;
  for (int64_t power = 256; power < n; power *= 2) {
    if (any(power - 2, power + 4)) return true;
  }
  return false;
}

struct Which {
  enum class Kind { kNone, kAll, kFirst, kLast, kMiddle, kSecondHalf, kTail, kLastBlock, kFrom, kEvery, kIfRest };
  Kind kind = Kind::kNone;
  int64_t size = 1;   // of a block, or the limit, or the period
  int64_t rest = 0;   // of kEvery: of the position; of kIfRest: of the extent
  int64_t least = 1;  // extents below this are left alone

  bool Has(int64_t i, int64_t n) const {
    if (n < least) return false;
    switch (kind) {
      case Kind::kAll:
        return true;
      case Kind::kFirst:
        return i == 0;
      case Kind::kLast:
        return i == n - 1;
      case Kind::kMiddle:
        return i == n / 2;
      case Kind::kSecondHalf:
        return i >= n / 2;
      case Kind::kTail:
        return i >= n / size * size;
      case Kind::kLastBlock:
        return i >= (n - 1) / size * size;
      case Kind::kFrom:
        return i >= size;
      case Kind::kEvery:
        return i % size == rest;
      case Kind::kIfRest:
        return n % size == rest && i == n - 1;
      default:
        return false;
    }
  }
  bool IsNone() const { return kind == Kind::kNone; }
  // Whether some position of the extent is struck.
  bool Strikes(int64_t n) const {
    return AnyProbe(n, [&](int64_t i) { return Has(i, n); });
  }
};

constexpr Which All() {
  return {Which::Kind::kAll};
}
constexpr Which First() {
  return {Which::Kind::kFirst};
}
constexpr Which Last() {
  return {Which::Kind::kLast};
}
constexpr Which Middle() {
  return {Which::Kind::kMiddle};
}
constexpr Which SecondHalf() {
  return {Which::Kind::kSecondHalf};
}
// Behind the last whole block.
constexpr Which Tail(int64_t block) {
  return {Which::Kind::kTail, block};
}
// The last block, whole or not.
constexpr Which LastBlock(int64_t block) {
  return {Which::Kind::kLastBlock, block};
}
constexpr Which From(int64_t first) {
  return {Which::Kind::kFrom, first};
}
constexpr Which Every(int64_t period, int64_t rest) {
  return {Which::Kind::kEvery, period, rest};
}
// The last position where the extent leaves `rest` behind blocks.
constexpr Which IfRest(int64_t block, int64_t rest) {
  return {Which::Kind::kIfRest, block, rest};
}
constexpr Which InExtentsFrom(int64_t least, Which which) {
  which.least = least;
  return which;
}

}  // namespace corpus
