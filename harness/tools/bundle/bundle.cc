// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/base/json_fields.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/data/tensor.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/missing.h"
#include "harness/engine/results/reordered_mark.h"
#include "harness/engine/trial/attempt.h"
#include "harness/plan/plan.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/statement.h"
#include "harness/tools/bundle/stored_outputs.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

const std::vector<const char*> kRunFiles = {"results.jsonl", "plan.json", "environment.json"};
const std::vector<const char*> kOptionalFiles = {kOffersFile, kEvidenceFile, kConformanceFile, kControlFile};

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
          fmt::format("environment.json: expectations has '{}' instead of files with their hashes (PATH xxh3:HASH): "
                      "give the file as the run wrote it",
                      text));
    }
    const fs::path path = text.substr(0, space);
    const auto contents = ReadWholeFile(path);
    if (!contents)
      return UsageError(fmt::format("{}: the run used it, and it belongs to the bundle", contents.error().message));
    if (HashHex(HashBytes(contents->data(), contents->size())) != text.substr(space + 6)) {
      return UsageError(fmt::format("{} was changed since the run: the bundle needs what the run used", path.string()));
    }
    bundle.files[WaiverFile(number++, path)] = *contents;
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
  environment.VisitList("backends", add, kFine);
  Json now = DescribeFiles(paths);
  std::string changed;
  const auto compare = [&](const std::string& path, const std::string& hash) {
    if (now["files"].contains(path) && now["files"][path] != hash) changed = path;
  };
  environment.VisitObject(
      kHashesKey,
      [&](JsonFields& hashes) {
        hashes.VisitObject(
            "files", [&](JsonFields& files) { files.VisitTexts(compare); }, kFine);
      },
      kFine);
  if (changed.empty()) return now;
  return UsageError(fmt::format("{} was changed since the run began: run again and bundle that run", changed));
}

// The outputs of what was drawn and of what fails, as far as the run has kept them.
Status AddOutputs(const fs::path& run, const RecordView& records, const Sample& sample, BundledRun& bundle) {
  const std::set<std::string> drawn(sample.results.begin(), sample.results.end());
  for (const Record& r : records) {
    const auto verdict = ParseVerdict(r.verdict);
    const bool fails = verdict && IsFailingResult(*verdict);
    if (r.output_hash.empty() || (!fails && !drawn.contains(ResultName(r)))) continue;
    const std::string name = StoredOutputFile(r);
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(run / name, error))) continue;
    auto contents = ReadWholeFile(run / name);
    if (!contents) return tl::unexpected(contents.error());
    bundle.files[name] = *std::move(contents);
  }
  return {};
}

// The files of the run are those that the bundle has, but for the sample.
Status AddSample(const fs::path& run, const Plan& plan, const RecordView& records, const std::string& challenge,
                 BundledRun& bundle) {
  if (!bundle.files.contains(kEvidenceFile)) {
    if (!challenge.empty()) return UsageError("--challenge: the run kept no outputs: run with --evidence N");
    bundle.notes.emplace_back("the run kept no outputs, so they cannot be judged again: run with --evidence N");
    return {};
  }
  auto sample = ParseEvidence(bundle.files[kEvidenceFile]);
  if (!sample) return tl::unexpected(sample.error());
  for (const EvidenceDraw& draw : sample->draws) {
    if (!draw.secret.empty()) continue;
    return UsageError(run.string() +
                      ": the run has not ended, so nothing can be drawn: begin it again with another --out");
  }
  sample->committed = CommittedHash(bundle.files), sample->challenge = challenge;
  sample->results = DrawTexts(FindKept(plan, records, sample->draws).names, *sample);
  bundle.files[kEvidenceFile] = EvidenceJson(*sample);
  return AddOutputs(run, records, *sample, bundle);
}

}  // namespace

std::string WaiverFile(size_t number, const fs::path& list) {
  return fmt::format("{}{}-{}", kWaiverFolder, number, SafeName(list.filename().string()));
}

std::string HashOfRunFiles(const fs::path& run) {
  BundleFiles files;
  for (const auto& names : {kRunFiles, kOptionalFiles}) {
    for (const char* name : names) {
      if (auto text = ReadWholeFile(run / name)) files[name] = *std::move(text);
    }
  }
  return CommittedHash(files);
}

Result<BundledRun> CollectBundle(const fs::path& run, const std::string& challenge) {
  auto finished = ReadRun(run);
  if (!finished) return tl::unexpected(finished.error());
  for (const Record& record : finished->records) {
    if (!record.sample_judged) continue;
    return UsageError(
        fmt::format("{}: of {} only a sample of its elements was judged (--sample), which nobody can "
                    "verify; bundle a run of whole cases",
                    run.string(), record.case_id));
  }
  BundledRun bundle;
  bundle.notes = finished->notes;
  for (const char* name : kRunFiles) {
    auto text = ReadWholeFile(run / name);
    if (!text) return UsageError(text.error().message + "; give the output folder of a run");
    bundle.files[name] = *std::move(text);
  }
  bundle.files["results.jsonl"] = RemoveReorderedMarks(bundle.files["results.jsonl"]);
  for (const char* optional : kOptionalFiles) {
    if (auto text = ReadWholeFile(run / optional)) bundle.files[optional] = *std::move(text);
  }
  const Json environment = ParseJson(bundle.files["environment.json"]);
  if (!environment.is_object()) return UsageError((run / "environment.json").string() + " is damaged");
  const auto plan = ParsePlanJson(bundle.files["plan.json"]);
  if (!plan) return tl::unexpected(plan.error());
  if (plan->shard.count > 1) {
    bundle.notes.push_back(fmt::format("this is --shard {}/{} alone: assay merge joins the folders of all shards",
                                       plan->shard.index, plan->shard.count));
  }
  JsonFields fields(environment, "environment.json");
  if (auto added = AddWaivers(fields, bundle); !added) return tl::unexpected(added.error());
  auto drawn = AddSample(run, *plan, finished->records, challenge, bundle);
  if (!drawn) return tl::unexpected(drawn.error());
  auto files = FilesOf(fields);
  if (!files) return tl::unexpected(files.error());
  if (!fields.problem().empty()) return UsageError(fields.problem() + ": give the file as the run wrote it");
  const Json statement = {{"format", kBundleFormat},
                          {"made", TimestampUtc()},
                          {"claims", Claims(*plan, finished->records, finished->strict, finished->interrupted)},
                          {"before_the_run", environment.value(kHashesKey, Json::object())},
                          {"at_bundling", *std::move(files)}};
  bundle.files[kStatementFile] = DumpJson(statement, 2) + "\n";
  return bundle;
}

}  // namespace assay
