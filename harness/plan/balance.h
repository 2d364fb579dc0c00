// SPDX-License-Identifier: Apache-2.0
// Shards of about equal cost, by what each case cost in an earlier run (--balance). The same run, cases and number of
// shards give the same shards on every machine; other cases than before move others.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"

namespace assay {

using CaseCosts = std::map<std::string, double>;  // seconds by case id

// Sums the time of each case over all devices.
CaseCosts CostsOf(const RecordView& records);
// Reads the costs from a run's folder. Errors: it has no records.
Result<CaseCosts> ReadCosts(const std::filesystem::path& dir);

// Assigns a shard to each case. A case without a cost gets the mean of its operator's cases, or else of all cases.
std::vector<int> BalanceShards(const std::vector<std::string>& ids, const CaseCosts& costs, int count);

}  // namespace assay
