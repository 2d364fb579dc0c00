// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/json_fields.h"
#include "harness/base/json_text.h"
#include "harness/base/whole_file.h"
#include "harness/data/tensor.h"
#include "harness/evidence/conform/finding.h"
#include "harness/evidence/draw.h"
#include "harness/evidence/sha256.h"
#include "harness/evidence/statement.h"
#include "harness/evidence/stored_outputs.h"
#include "harness/plan/plan.h"
#include "harness/results/environment.h"
#include "harness/results/finished_run.h"
#include "harness/results/missing.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::string SafeName(std::string name) {
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
    if (!plain) c = '_';
  }
  return name;
}

// The lists that environment.json names as "path xxh3:hash".
Status AddWaivers(JsonFields& environment, BundledRun& bundle) {
  size_t number = 0;
  for (const std::string& text : environment.Texts("expectations", JsonFields::Absent::kIsFine)) {
    const size_t space = text.rfind(" xxh3:");
    if (space == text.npos) {
      return UsageError(
          fmt::format("environment.json: expectations has '{}', and has to name files with their hashes "
                      "(PATH xxh3:HASH): give the file as the run wrote it",
                      text));
    }
    const fs::path path = text.substr(0, space);
    const auto contents = ReadWholeFile(path);
    if (!contents)
      return UsageError(fmt::format("{}: the run used it, and it belongs to the bundle", contents.error().message));
    if (HashHex(HashBytes(contents->data(), contents->size())) != text.substr(space + 6)) {
      return UsageError(fmt::format("{} was changed since the run: the bundle needs what the run used", path.string()));
    }
    bundle.files[fmt::format("{}{}-{}", kWaiverFolder, number++, SafeName(path.filename().string()))] = *contents;
  }
  return {};
}

// Plugins and what their workers had loaded. A plugin that is not what it was before the run made other results.
Result<Json> FilesOf(JsonFields& environment) {
  constexpr auto kFine = JsonFields::Absent::kIsFine;
  std::vector<std::string> paths;
  const auto add = [&](JsonFields& device) {
    if (std::string plugin = device.Text("plugin", kFine); !plugin.empty()) paths.push_back(std::move(plugin));
    std::ranges::move(device.Texts("loaded_libraries", kFine), std::back_inserter(paths));
  };
  environment.EachOf("backends", add, kFine);
  Json now = DescribeFiles(paths);
  std::string changed;
  const auto compare = [&](const std::string& path, const std::string& hash) {
    if (now["files"].contains(path) && now["files"][path] != hash) changed = path;
  };
  environment.Within(
      kHashesKey,
      [&](JsonFields& hashes) {
        hashes.Within(
            "files", [&](JsonFields& files) { files.EachText(compare); }, kFine);
      },
      kFine);
  if (changed.empty()) return now;
  return UsageError(fmt::format("{} was changed since the run began: bundle a run of what is there now", changed));
}

Status AddOutputs(const fs::path& run, const RecordView& records, BundledRun& bundle) {
  for (const Record& r : records) {
    if (r.output_hash.empty()) continue;
    const std::string name = StoredOutputFile(r);
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(run / name, error))) continue;
    auto contents = ReadWholeFile(run / name);
    if (!contents) return tl::unexpected(contents.error());
    bundle.files[name] = *std::move(contents);
  }
  return {};
}

}  // namespace

Result<BundledRun> CollectBundle(const fs::path& run) {
  auto finished = ReadRun(run);
  if (!finished) return tl::unexpected(finished.error());
  BundledRun bundle;
  bundle.notes = finished->notes;
  for (const char* name : {"results.jsonl", "plan.json", "environment.json"}) {
    auto text = ReadWholeFile(run / name);
    if (!text) return UsageError(text.error().message + "; give the output folder of a run");
    bundle.files[name] = *std::move(text);
  }
  for (const char* optional : {kOffersFile, kEvidenceFile, kConformanceFile, kControlFile}) {
    if (auto text = ReadWholeFile(run / optional)) bundle.files[optional] = *std::move(text);
  }
  if (!bundle.files.contains(kEvidenceFile)) {
    bundle.notes.emplace_back("the run kept no outputs, so that nobody can judge them again: run with --evidence N");
  }
  const Json environment = ParseJson(bundle.files["environment.json"]);
  if (!environment.is_object()) return UsageError((run / "environment.json").string() + " is damaged");
  const auto plan = ParsePlanJson(bundle.files["plan.json"]);
  if (!plan) return tl::unexpected(plan.error());
  JsonFields fields(environment, "environment.json");
  if (auto added = AddWaivers(fields, bundle); !added) return tl::unexpected(added.error());
  if (auto added = AddOutputs(run, finished->records, bundle); !added) return tl::unexpected(added.error());
  auto files = FilesOf(fields);
  if (!files) return tl::unexpected(files.error());
  if (!fields.problem().empty()) return UsageError(fields.problem() + ": give the file as the run wrote it");
  const Json statement = {{"format", 1},
                          {"made", TimestampUtc()},
                          {"claims", Claims(*plan, finished->records, finished->strict, finished->interrupted)},
                          {"before_the_run", environment.value(kHashesKey, Json::object())},
                          {"at_bundling", *std::move(files)}};
  bundle.files[kStatementFile] = DumpJson(statement, 2) + "\n";
  return bundle;
}

}  // namespace assay
