// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/between_backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace assay {
namespace {

bool FailsByItself(const Record& r) {
  return r.verdict != "pass" && r.verdict != "inconclusive";
}

std::vector<std::vector<size_t>> GroupEqual(const std::vector<const Record*>& results) {
  std::vector<std::vector<size_t>> sets;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto is_equal = [&](const auto& set) { return results[set[0]]->output_hash == results[i]->output_hash; };
    const auto same = std::ranges::find_if(sets, is_equal);
    if (same == sets.end()) {
      sets.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  std::ranges::stable_sort(sets, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return sets;
}

std::optional<size_t> FindNearest(const std::vector<const Record*>& results) {
  if (!std::ranges::all_of(results, [](const Record* r) { return r->rms_err.has_value(); })) return std::nullopt;
  const auto nearest = std::ranges::min_element(results, {}, [](const Record* r) { return *r->rms_err; });
  return static_cast<size_t>(nearest - results.begin());
}

std::optional<size_t> FindOdd(const ComparedResults& of) {
  if (of.results.size() < 3) return std::nullopt;
  const auto fails = [](const Record* r) { return FailsByItself(*r); };
  if (std::ranges::count_if(of.results, fails) == 1)
    return static_cast<size_t>(std::ranges::find_if(of.results, fails) - of.results.begin());
  if (of.equal.size() == 2 && of.equal[1].size() == 1) return of.equal[1][0];
  return std::nullopt;
}

}  // namespace

std::string NameBetween(const Record& record) {
  const bool is_of_device = !record.device.empty() && record.device != "host";
  return record.backend + " " + record.implementation + (is_of_device ? " on " + record.device : "");
}

std::vector<ComparedResults> CompareInCases(std::span<const Record* const> records) {
  std::vector<ComparedResults> cases;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (const Record* record : records) {
    if (record->output_hash.empty()) continue;  // nothing came of it
    const auto [at, is_new] = places.try_emplace({record->case_id, record->input_hash}, cases.size());
    if (is_new) cases.push_back({.case_id = record->case_id});
    cases[at->second].results.push_back(record);
  }
  std::erase_if(cases, [](const ComparedResults& of) { return of.results.size() < 2; });
  for (ComparedResults& of : cases) {
    of.equal = GroupEqual(of.results);
    of.nearest = FindNearest(of.results);
    of.odd = FindOdd(of);
  }
  return cases;
}

std::vector<PairBetween> ComparePairs(const std::vector<ComparedResults>& cases) {
  std::map<std::pair<std::string, std::string>, PairBetween> pairs;
  std::set<std::string> backends;
  for (const ComparedResults& of : cases) {
    for (const Record* r : of.results) backends.insert(r->backend);
  }
  for (const ComparedResults& of : cases) {
    for (size_t i = 0; i < of.results.size(); ++i) {
      for (size_t j = 0; j < of.results.size(); ++j) {
        const Record &a = *of.results[i], &b = *of.results[j];
        std::string first = NameBetween(a), second = NameBetween(b);
        if (i == j || std::tuple(first, i) > std::tuple(second, j)) continue;
        if (backends.size() > 1 && a.backend == b.backend) continue;
        PairBetween& pair = pairs[{first, second}];
        pair.first = std::move(first), pair.second = std::move(second);
        ++pair.cases;
        pair.equal += a.output_hash == b.output_hash ? 1 : 0;
        if (!a.rms_err || !b.rms_err) continue;
        pair.first_nearer += *a.rms_err < *b.rms_err ? 1 : 0;
        pair.second_nearer += *b.rms_err < *a.rms_err ? 1 : 0;
      }
    }
  }
  std::vector<PairBetween> all;
  for (auto& [names, pair] : pairs) all.push_back(std::move(pair));
  return all;
}

std::string OddOneOutText(const ComparedResults& of) {
  if (!of.odd || !FailsByItself(*of.results[*of.odd])) return "";
  return fmt::format("odd one out: {}, of {} results of this case", NameBetween(*of.results[*of.odd]),
                     of.results.size());
}

}  // namespace assay
