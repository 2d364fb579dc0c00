// SPDX-License-Identifier: Apache-2.0
// assay golden list and gc.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"

namespace assay::cli {
namespace {

const char* KindName(StoreFile::Kind kind) {
  switch (kind) {
    case StoreFile::Kind::kGolden:
      return "golden";
    case StoreFile::Kind::kOtherVersion:
      return "other version";
    case StoreFile::Kind::kOtherFormula:
      return "other formula";
    case StoreFile::Kind::kDamaged:
      return "damaged";
    case StoreFile::Kind::kTemporary:
      return "temporary";
    default:
      return "foreign";
  }
}

bool HasIdentity(const StoreFile& file) {
  using Kind = StoreFile::Kind;
  return file.kind == Kind::kGolden || file.kind == Kind::kOtherVersion || file.kind == Kind::kOtherFormula;
}

// The id, and of further outputs which one.
std::string IdentityOf(const StoreFile& file) {
  return file.key.case_id + (file.key.output.empty() ? "" : " output " + file.key.output);
}

std::string ListJson(const std::vector<StoreFile>& files) {
  Json rows = Json::array();
  for (const StoreFile& f : files) {
    Json row{{"path", f.path.string()}, {"kind", KindName(f.kind)}, {"bytes", f.bytes}, {"age_s", f.age_s}};
    if (HasIdentity(f)) {
      row["case_id"] = f.key.case_id;
      if (!f.key.output.empty()) row["output"] = f.key.output;
      if (!f.key.formula.empty()) row["formula"] = f.key.formula;
      row["tier"] = Name(f.key.tier);
      row["generator_version"] = f.generator_version;
      row["golden_version"] = f.golden_version;
    }
    if (!f.problem.empty()) row["problem"] = f.problem;
    rows.push_back(std::move(row));
  }
  return DumpJson(rows, 1) + "\n";
}

std::string ListTable(const std::vector<StoreFile>& files) {
  size_t width = 2;
  for (const StoreFile& f : files)
    width = std::max(width, HasIdentity(f) ? IdentityOf(f).size() : f.path.string().size());
  std::string text = fmt::format("{:<{}}  {:<12} {:>10} {:>8}  version\n", "id", width, "tier", "bytes", "unused");
  int64_t bytes = 0;
  for (const StoreFile& f : files) {
    bytes += f.bytes;
    const bool identity = HasIdentity(f);
    text += fmt::format("{:<{}}  {:<12} {:>10} {:>8}  {}\n", identity ? IdentityOf(f) : f.path.string(), width,
                        identity ? Name(f.key.tier) : "", f.bytes, AgeText(f.age_s),
                        !identity                                  ? KindName(f.kind)
                        : f.kind == StoreFile::Kind::kOtherFormula ? VersionText(f) + ", other formula"
                                                                   : VersionText(f));
  }
  return text + fmt::format("{}, {}; this program reads version {}.{}\n", Counted(std::ssize(files), "file"),
                            BytesText(bytes), kGeneratorVersion, kGoldenVersion);
}

// Why a list is empty. That there is nothing yet is no failure; that a filter fits nothing of what there is is one.
int SayNothingListed(const GoldenOptions& options) {
  GoldenOptions all = options;
  all.run.selection.filter = RunOptions().selection.filter;
  const auto files = FilesOf(all);
  if (files && !files->empty()) {
    return Complain(kExitNothing, fmt::format("--filter {}: matches none of the {} golden values of the store",
                                              options.run.selection.filter, files->size()));
  }
  const auto store = StoreOf(options);
  return Complain(kExitOk, fmt::format("the store {} is empty; assay golden build --suite NAME fills it",
                                       store ? store->root().string() : options.store));
}

}  // namespace

int ListGoldens(const GoldenOptions& options) {
  const auto files = FilesOf(options);
  if (!files)
    return Complain(files.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, files.error().message);
  Print(options.json ? ListJson(*files) : ListTable(*files));
  return files->empty() ? SayNothingListed(options) : kExitOk;
}

int CollectGoldens(const GoldenOptions& options) {
  auto files = FilesOf(options);
  if (!files)
    return Complain(files.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, files.error().message);
  const GcResult result = CollectGarbage(*std::move(files), options.limits);
  int64_t bytes = 0;
  for (const StoreFile& f : result.removed) {
    bytes += f.bytes;
    Print(fmt::format("{}  {:<13} {}\n", options.limits.dry_run ? "would remove" : "removed", KindName(f.kind),
                      HasIdentity(f) ? fmt::format("{} ({} tier, version {}, unused for {})", f.key.case_id,
                                                   Name(f.key.tier), VersionText(f), AgeText(f.age_s))
                                     : f.path.string()));
  }
  Print(fmt::format("{} {}, {}; {} left, {}\n", options.limits.dry_run ? "would remove" : "removed",
                    Counted(std::ssize(result.removed), "file"), BytesText(bytes),
                    Counted(result.kept_files, "golden value"), BytesText(result.kept_bytes)));
  for (const StoreFile& f : result.failed) Note(f.problem);
  return result.failed.empty() ? kExitOk : kExitHarness;
}

}  // namespace assay::cli
