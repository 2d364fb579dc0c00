// SPDX-License-Identifier: Apache-2.0
// Sharding: the part of selection.h that looks at the environment.
#include <fmt/format.h>

#include <fstream>

#include "harness/core/base/text.h"
#include "harness/core/data/tensor.h"
#include "harness/plan/selection.h"

namespace assay {
namespace {

Result<Shard> MakeShard(std::string_view index_text, std::string_view count_text, std::string_view origin) {
  const auto index = ParseNumber<int>(index_text);
  const auto count = ParseNumber<int>(count_text);
  if (!index || !count || *count < 1 || *index < 0 || *index >= *count) {
    return UsageError(fmt::format("{}: shard {}/{} is not i/n with 0 <= i < n; the first of four is 0/4, the last 3/4",
                                  origin, index_text, count_text));
  }
  return Shard{*index, *count};
}

std::string_view Get(const EnvLookup& env, const char* name) {
  const char* value = env(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Result<Shard> ParseShardFrom(std::string_view text, std::string_view origin) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return UsageError(fmt::format("{}: '{}' is not i/n, such as 0/4", origin, text));
  }
  return MakeShard(text.substr(0, slash), text.substr(slash + 1), origin);
}

}  // namespace

bool InShard(std::string_view id, const Shard& shard) {
  return HashBytes(id.data(), id.size()) % static_cast<uint64_t>(shard.count) == static_cast<uint64_t>(shard.index);
}

Result<Shard> ParseShard(std::string_view text) {
  return ParseShardFrom(text, "--shard");
}

Result<Shard> ResolveShard(std::string_view flag, const EnvLookup& env) {
  if (!flag.empty()) return ParseShard(flag);
  if (const auto text = Get(env, "ASSAY_SHARD"); !text.empty()) return ParseShardFrom(text, "ASSAY_SHARD");
  constexpr const char* kPairs[][2] = {{"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"},
                                       {"TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS"}};
  for (const auto& [index_name, count_name] : kPairs) {
    const std::string_view index = Get(env, index_name), count = Get(env, count_name);
    if (index.empty() && count.empty()) continue;
    if (index.empty() || count.empty()) {
      return UsageError(fmt::format("{} is set without {}; set both or neither",
                                    index.empty() ? count_name : index_name, index.empty() ? index_name : count_name));
    }
    return MakeShard(index, count, index_name);
  }
  return Shard{};
}

Status TouchShardStatusFiles(const EnvLookup& env) {
  for (const char* name : {"GTEST_SHARD_STATUS_FILE", "TEST_SHARD_STATUS_FILE"}) {
    const std::string path(Get(env, name));
    if (path.empty()) continue;
    std::ofstream file(path, std::ios::app);
    file.close();
    if (!file) return Fail(ErrorCode::kIo, fmt::format("cannot write {}, named by {}", path, name));
  }
  return {};
}

}  // namespace assay
