// SPDX-License-Identifier: Apache-2.0
// Which of a suite's cases to run: globs on ids, lists of operators and dtypes, and one shard of what is left.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

// GoogleTest's filter: globs ('*' any text, '?' one character) separated by ':'; after a glob that starts with '-', it
// and all that follow exclude. "a*:-b*" is a* without b*; "-b*" is everything without b*. Unlike GoogleTest's, a '-'
// inside a glob is a plain character, because ids contain it (cancel-1e6).
bool MatchesFilter(std::string_view filter, std::string_view id);

// Shard `index` of `count`, from 0.
struct Shard {
  int index = 0;
  int count = 1;
  bool operator==(const Shard&) const = default;
};

// A case belongs to shard xxh3-64(id) mod count: adding or removing cases never moves another one.
bool InShard(std::string_view id, const Shard& shard);

// "0/4" .. "3/4".
Result<Shard> ParseShard(std::string_view text);

// Environment variables by name; null when unset. std::getenv fits.
using EnvLookup = std::function<const char*(const char*)>;

// The first that says something: the --shard flag ("" when absent), ASSAY_SHARD, GTEST_SHARD_INDEX with
// GTEST_TOTAL_SHARDS, TEST_SHARD_INDEX with TEST_TOTAL_SHARDS (Bazel). No other scheduler's variables: a shell inside
// such a job would silently run a part.
Result<Shard> ResolveShard(std::string_view flag, const EnvLookup& env);

// Creates or touches the files that GTEST_SHARD_STATUS_FILE and TEST_SHARD_STATUS_FILE name, which tells the runner
// that sharding is understood.
Status TouchShardStatusFiles(const EnvLookup& env);

struct SelectionOptions {
  std::string filter = "*";
  std::vector<std::string> ops;       // empty: all
  std::vector<std::string> dtypes;    // a case's whole list ("bf16-bf16-f32") or any one of its dtypes; empty: all
  std::vector<std::string> backends;  // empty: all
  Shard shard;
  std::string origin;  // where the cases come from, for messages: "suite smoke"
};

enum class EmptyReason {
  kNone,       // not empty
  kNoMatch,    // filter and lists leave nothing: exit code 4
  kShardOnly,  // other shards have cases, this one has none
};

struct Selection {
  std::vector<PlannedCase> cases, others;  // of this shard, and of all others; in suite order, each case once
  std::vector<bool> is_own;  // of each of both together in suite order, which is what plan.json lists: one of `cases`
  EmptyReason empty = EmptyReason::kNone;
  std::string empty_message;  // what to say then

  void Add(PlannedCase planned, bool own = true);
  // Visits the cases of every shard in suite order.
  void ForEach(const std::function<void(const PlannedCase&)>& look) const;
};

// Whether a case of these types is one of --dtype's: of its whole list, or of any one of its types. Nothing wanted:
// all.
bool SelectsDTypes(const std::vector<std::string>& wanted, const std::vector<DType>& dtypes);

// For --dtype: an error that says what is no type.
Status CheckDTypes(const std::vector<std::string>& wanted);

// For --op: an error that lists the operators when there is none of that name.
Status CheckOperator(const std::string& name, const OpCatalog& ops);

// Errors: an operator or dtype that does not exist, one case with two requirements. An empty selection is not one, see
// `empty`.
Result<Selection> Select(std::vector<PlannedCase> suite, const SelectionOptions& options, const OpCatalog& ops);

// "shard 7/9 holds none of the 5 selected cases"
std::string EmptyShardText(const Shard& shard, size_t selected);

}  // namespace assay
