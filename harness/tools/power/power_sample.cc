// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "harness/core/data/tensor.h"
#include "harness/tools/power/power_loop.h"

namespace assay {
namespace {

// A place in the suite by its number there, drawn by the hash.
using DrawnPlace = std::pair<uint64_t, size_t>;

// Whole numbers in proportion to `counts` that sum to `size` (largest remainders), at least 1 and at most the count.
std::map<std::string, size_t> Shares(const std::map<std::string, std::vector<DrawnPlace>>& strata, size_t cases,
                                     size_t size) {
  std::map<std::string, size_t> shares;
  std::vector<std::pair<double, std::string>> remainders;
  size_t given = 0;
  for (const auto& [op, draws] : strata) {
    const double exact = static_cast<double>(size) * static_cast<double>(draws.size()) / static_cast<double>(cases);
    shares[op] = std::max<size_t>(1, static_cast<size_t>(exact));
    remainders.emplace_back(static_cast<double>(shares[op]) - exact, op);
    given += shares[op];
  }
  std::sort(remainders.begin(), remainders.end());
  for (const auto& [remainder, op] : remainders) {
    if (given >= size) break;
    if (shares[op] < strata.at(op).size()) ++shares[op], ++given;
  }
  return shares;
}

}  // namespace

std::vector<PlannedCase> SampleCases(std::vector<PlannedCase> cases, size_t size, uint64_t seed) {
  if (size >= cases.size()) return cases;
  std::map<std::string, std::vector<DrawnPlace>> strata;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string text = fmt::format("{} {}", seed, cases[i].spec.Id());
    strata[cases[i].spec.op].emplace_back(HashBytes(text.data(), text.size()), i);
  }
  const std::map<std::string, size_t> shares = Shares(strata, cases.size(), size);
  std::vector<size_t> taken;
  for (auto& [op, draws] : strata) {
    std::sort(draws.begin(), draws.end());
    for (size_t k = 0; k < shares.at(op); ++k) taken.push_back(draws[k].second);
  }
  std::sort(taken.begin(), taken.end());
  std::vector<PlannedCase> sample;
  for (const size_t i : taken) sample.push_back(std::move(cases[i]));
  return sample;
}

std::vector<PlannedCase> KeepCasesUpTo(std::vector<PlannedCase> cases, double most_flops) {
  std::erase_if(cases, [&](const PlannedCase& one) { return one.Bound()->problem.flops > most_flops; });
  return cases;
}

}  // namespace assay
