// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "harness/core/model/record_file.h"

namespace assay {
namespace {

struct Mean {
  double sum = 0;
  size_t count = 0;
  void Add(double value) { sum += value, ++count; }
  double Of(double without) const { return count > 0 ? sum / static_cast<double>(count) : without; }
};

std::string OperatorOf(const std::string& id) {
  return id.substr(0, id.find('/'));
}

std::vector<double> CostsOfCases(const std::vector<std::string>& ids, const CaseCosts& costs) {
  std::map<std::string, Mean> by_operator;
  Mean all;
  for (const auto& [id, seconds] : costs) by_operator[OperatorOf(id)].Add(seconds), all.Add(seconds);
  std::vector<double> out;
  for (const std::string& id : ids) {
    const auto known = costs.find(id);
    out.push_back(known != costs.end() ? known->second : by_operator[OperatorOf(id)].Of(all.Of(1)));
  }
  return out;
}

}  // namespace

CaseCosts CostsOf(const RecordView& records) {
  CaseCosts costs;
  std::map<std::string, double> of_case;  // what all devices share
  for (const Record& r : records) {
    double sum = r.time_median_s.value_or(0) * static_cast<double>(r.samples.value_or(0));
    for (const Number& part : {r.prepare_s, r.prepare_cached_s, r.execute_s, r.compare_s, r.relations_s}) {
      sum += part.value_or(0);
    }
    costs[r.case_id] += std::max(0.0, sum);
    of_case[r.case_id] = std::max(of_case[r.case_id], r.input_s.value_or(0) + r.golden_s.value_or(0));
  }
  for (auto& [id, seconds] : costs) seconds += of_case[id];
  return costs;
}

Result<CaseCosts> ReadCosts(const std::filesystem::path& dir) {
  auto file = ReadRecords(dir / "results.jsonl");
  if (!file) return tl::unexpected(file.error());
  if (file->records.empty()) return UsageError(fmt::format("{} has no records to balance by", dir.string()));
  return CostsOf(file->records);
}

// The costliest case first, each to the shard that has least so far. Equal costs go by the id, so that the order of a
// suite's lines does not count.
std::vector<int> BalanceShards(const std::vector<std::string>& ids, const CaseCosts& costs, int count) {
  const std::vector<double> seconds = CostsOfCases(ids, costs);
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(
      order, [&](size_t a, size_t b) { return seconds[a] != seconds[b] ? seconds[a] > seconds[b] : ids[a] < ids[b]; });
  std::vector<double> load(static_cast<size_t>(count), 0);
  std::vector<int> shards(ids.size(), 0);
  for (const size_t i : order) {
    const auto least = std::ranges::min_element(load);
    shards[i] = static_cast<int>(least - load.begin());
    *least += seconds[i];
  }
  return shards;
}

}  // namespace assay
