// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/golden/verb_golden.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"

namespace assay::cli {
namespace {

constexpr const char* kManifestFormat = "assay-golden-manifest-1";

bool IsManifest(const Json& json) {
  return json.is_object() && json.value("format", Json()) == kManifestFormat;
}

Status CheckVersions(const Json& json, const std::filesystem::path& path) {
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<int>() : -1;
  };
  if (!IsManifest(json)) {
    return UsageError(fmt::format("{}: not a manifest of golden values ({})", path.string(), kManifestFormat));
  }
  const int generator = number("generator_version"), golden = number("golden_version");
  if (generator == kGeneratorVersion && golden == kGoldenVersion) return {};
  return UsageError(
      fmt::format("{}: made with version {}.{} of inputs and golden values, this program has {}.{}; make it "
                  "again with assay golden export --manifest",
                  path.string(), generator, golden, kGeneratorVersion, kGoldenVersion));
}

}  // namespace

Result<std::vector<ManifestEntry>> ReadGoldenManifest(const std::filesystem::path& path) {
  const auto text = ReadWholeFile(path);
  if (!text) return tl::unexpected(text.error());
  const Json json = ParseJson(*text);
  if (Status status = CheckVersions(json, path); !status) return tl::unexpected(status.error());
  std::vector<ManifestEntry> entries;
  const Json cases = json.value("cases", Json());
  for (const auto& [id, pinned] : cases.items()) {
    entries.push_back({id, TextIn(pinned, "inputs"), TextIn(pinned, "golden")});
    if (entries.back().inputs.empty() || entries.back().golden.empty()) {
      return UsageError(fmt::format("{}: case {} lacks its hashes 'inputs' and 'golden'", path.string(), id));
    }
  }
  if (entries.empty()) return UsageError(fmt::format("{}: the manifest has no cases", path.string()));
  return entries;
}

Status WriteManifest(const std::filesystem::path& path, std::vector<ManifestEntry> entries) {
  std::ranges::sort(entries, {}, &ManifestEntry::id);
  std::string text = fmt::format(
      "{{\n \"format\": \"{}\",\n \"generator_version\": {},\n \"golden_version\": {},\n"
      " \"tier\": \"{}\",\n \"cases\": {{",
      kManifestFormat, kGeneratorVersion, kGoldenVersion, Name(Tier::kReproducible));
  for (const ManifestEntry& e : entries) {
    text += fmt::format("{}\n  {}: {{\"inputs\": \"{}\", \"golden\": \"{}\"}}", &e == entries.data() ? "" : ",",
                        DumpJson(Json(e.id)), e.inputs, e.golden);
  }
  text += "\n }\n}\n";
  return WriteFileAtomically(path, {{text.data(), text.size()}});
}

bool IsManifestFile(const std::filesystem::path& path) {
  return IsManifest(ParseJson(ReadWholeFile(path).value_or("")));
}

Result<ManifestEntry> EntryOf(const BoundCase& bound, const GoldenStore& store) {
  const auto data = PrepareCase(bound, std::string(Name(Tier::kReproducible)), store, MemoryUse::kJudgement);
  if (!data) return tl::unexpected(data.error());
  return ManifestEntry{data->problem.spec.Id(), data->input_hash, data->golden_hash};
}

Result<CaseSpec> SpecOfId(const std::string& id) {
  auto spec = ParseId(id);
  if (spec && OperatorRegistry::Global().Find(spec->op) == nullptr) {
    return UsageError(fmt::format("{}: this program has no operator '{}'", id, spec->op));
  }
  return spec;
}

}  // namespace assay::cli
