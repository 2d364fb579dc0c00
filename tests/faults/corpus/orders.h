// SPDX-License-Identifier: Apache-2.0
// Orders in which one accumulator may take the terms of a sum.
#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace corpus {

// Any order, the same for every sum of n terms.
inline std::vector<int64_t> Shuffled(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::mt19937_64 random(static_cast<uint64_t>(n));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// 0, kStride, 2 kStride, ... then 1, kStride + 1, ...: rows of a matrix, read by columns.
template <int64_t kStride>
std::vector<int64_t> Strided(int64_t n) {
  std::vector<int64_t> order;
  for (int64_t first = 0; first < kStride; ++first) {
    for (int64_t i = first; i < n; i += kStride) order.push_back(i);
  }
  return order;
}

// kMake's order of n terms, made once.
template <std::vector<int64_t> (*kMake)(int64_t)>
const std::vector<int64_t>& OrderOf(int64_t n) {
  thread_local std::map<int64_t, std::vector<int64_t>> orders;
  const auto [place, is_new] = orders.try_emplace(n);
  if (is_new) place->second = kMake(n);
  return place->second;
}

}  // namespace corpus
