// SPDX-License-Identifier: Apache-2.0
// In which order results are timed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace assay {

// Random, but results of implementations with one name follow each other: two builds of one plugin are then timed side
// by side, whichever first, and what the machine does meanwhile meets both.
template <class T, class NameOf>
void ShuffleSideBySide(std::vector<T>& results, NameOf name, std::mt19937_64& random) {
  std::shuffle(results.begin(), results.end(), random);
  std::map<std::string, uint64_t> at;
  for (const T& result : results) at.try_emplace(name(result), random());
  std::ranges::stable_sort(results, {}, [&](const T& result) { return at.at(name(result)); });
}

// Where the last of them begin that share a name.
template <class T, class NameOf>
size_t FindLastGroup(const std::vector<T>& results, NameOf name) {
  size_t begin = results.size() - 1;
  while (begin > 0 && name(results[begin - 1]) == name(results.back())) --begin;
  return begin;
}

}  // namespace assay
