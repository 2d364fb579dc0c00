// SPDX-License-Identifier: Apache-2.0
// assay golden verify. Exit codes: 0; 1 a file is damaged, or a value differs; 2 usage; 3 a value could not be
// computed; 4 there is nothing to verify.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/plan/selection.h"

namespace assay::cli {
namespace {

struct GoldenFinding {
  std::string kind, id, message;  // kind: damaged, different, failed
  bool operator<(const GoldenFinding& other) const { return std::tie(id, message) < std::tie(other.id, other.message); }
};

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

// In the reproducible tier bit for bit; the fast tier differs between machines, by no more than both errors.
std::string DifferenceOf(const Golden& stored, const Golden& fresh) {
  if (GoldenHash(stored) == GoldenHash(fresh)) return "";
  if (stored.shape != fresh.shape || stored.size() != fresh.size() || stored.tier != fresh.tier ||
      stored.value_lo.size() != fresh.value_lo.size()) {
    return "another shape, tier or precision than computed now";
  }
  const bool bit_for_bit = stored.tier == Tier::kReproducible || stored.exact;
  const bool errors_known = stored.error.size() == stored.size() && fresh.error.size() == fresh.size();
  for (int64_t i = 0; i < stored.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double a = stored.value[at], b = fresh.value[at];
    const bool within = a == b || (errors_known && std::abs(a - b) <= stored.error[i] + fresh.error[i]);
    if (!SameBits(a, b) && (bit_for_bit || !within)) return fmt::format("value {} is {}, computed now {}", i, a, b);
    if (!stored.value_lo.empty() && !SameBits(stored.value_lo[at], fresh.value_lo[at])) {
      return fmt::format("the low part of value {} is {}, computed now {}", i, stored.value_lo[at], fresh.value_lo[at]);
    }
  }
  return "";
}

// The cases that files and manifests name by their ids, each bound once. One that its operator refuses counts when it
// would be computed.
class NameMatcher {
 public:
  void Add(const CaseSpec& spec) {
    auto bound = BindCase(spec);
    cases_.push_back(bound ? *bound : SharedCase());
    refusals_.push_back(bound ? std::string() : bound.error().message);
  }
  const std::vector<SharedCase>& cases() const { return cases_; }
  Result<SharedCase> At(size_t i) const {
    if (cases_[i] == nullptr) return UsageError(refusals_[i]);
    return cases_[i];
  }

 private:
  std::vector<SharedCase> cases_;  // null where it was refused
  std::vector<std::string> refusals_;
};

// Verifies a single file whose header is that of a golden value.
std::optional<GoldenFinding> VerifyFile(const StoreFile& file, const Result<SharedCase>& bound, bool recompute) {
  const std::string& id = file.key.case_id;
  const auto golden = ReadGolden(file.path, file.key);
  if (!golden) return GoldenFinding{"damaged", id, golden.error().message};
  if (!recompute) return std::nullopt;
  if (!bound) return GoldenFinding{"failed", id, bound.error().message};
  const auto data = PrepareInputs(**bound);
  if (!data) return GoldenFinding{"failed", id, data.error().message};
  if (data->input_hash != file.key.input_hash) {
    return GoldenFinding{"different", id,
                         fmt::format("its inputs have hash {}, made now {}", file.key.input_hash, data->input_hash)};
  }
  const std::vector<Operand>& outputs = data->problem.outputs;
  const auto output =
      file.key.output.empty() ? outputs.begin() : std::ranges::find(outputs, file.key.output, &Operand::name);
  if (output == outputs.end()) {
    return GoldenFinding{"failed", id, fmt::format("it has no output {}", file.key.output)};
  }
  const auto number = static_cast<size_t>(output - outputs.begin());
  const std::string difference =
      DifferenceOf(*golden, data->op->ComputeGolden(data->problem, number, data->inputs, file.key.tier));
  if (difference.empty()) return std::nullopt;
  return GoldenFinding{"different", id, fmt::format("{}: {}", file.path.string(), difference)};
}

class GoldenFindings {
 public:
  GoldenFindings(size_t total, Progress::Mode mode) : progress_(mode, total) {}
  void Add(const std::string& id, std::optional<GoldenFinding> finding) {
    const std::lock_guard lock(mutex_);
    if (finding) found_.push_back(*std::move(finding));
    progress_.Update(++done_, found_.size(), id);
  }
  std::vector<GoldenFinding> Sorted() {
    std::ranges::sort(found_, std::less());
    return found_;
  }

 private:
  std::mutex mutex_;
  Progress progress_;
  size_t done_ = 0;
  std::vector<GoldenFinding> found_;
};

int ReportFindings(const GoldenOptions& options, size_t checked, const std::string& what,
                   const std::vector<GoldenFinding>& findings) {
  const bool failed = std::ranges::any_of(findings, [](const GoldenFinding& f) { return f.kind == "failed"; });
  const int code = failed ? kExitHarness : findings.empty() ? kExitOk : kExitFailed;
  if (options.json) {
    Json json{{"checked", checked}, {"findings", Json::array()}, {"exit_code", code}};
    for (const GoldenFinding& f : findings)
      json["findings"].push_back({{"kind", f.kind}, {"case_id", f.id}, {"message", f.message}});
    Print(DumpJson(json, 1) + "\n");
    return code;
  }
  for (const GoldenFinding& f : findings) Print(fmt::format("{:<9}  {}  {}\n", f.kind, f.id, f.message));
  Print(fmt::format("{} {} checked, {} wrong\n", checked, what, findings.size()));
  return code;
}

int VerifyStore(const GoldenOptions& options) {
  const auto files = FilesOf(options);
  if (!files)
    return Complain(files.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, files.error().message);
  std::vector<const StoreFile*> golden;
  NameMatcher named;
  std::vector<GoldenFinding> damaged;
  size_t others = 0;
  for (const StoreFile& f : *files) {
    const bool is_old = f.kind == StoreFile::Kind::kOtherVersion || f.kind == StoreFile::Kind::kOtherFormula;
    others += is_old ? 1 : 0;
    if (f.kind == StoreFile::Kind::kDamaged) damaged.push_back({"damaged", f.key.case_id, f.problem});
    if (f.kind != StoreFile::Kind::kGolden) continue;
    const auto spec = SpecOfId(f.key.case_id);
    if (!spec) damaged.push_back({"failed", f.key.case_id, spec.error().message});
    if (spec) golden.push_back(&f), named.Add(*spec);
  }
  if (others > 0)
    Note(fmt::format("not checked: {} of another version or formula; assay golden gc removes these",
                     Counted(others, "value")));
  if (golden.empty() && damaged.empty()) return Complain(kExitNothing, "the store has no matching golden value");

  GoldenFindings findings(golden.size(), Progress::ParseMode(options.run.progress));
  for (const GoldenFinding& f : damaged) findings.Add(f.id, f);
  ForEachCase(
      named.cases(),
      [&](size_t i) { findings.Add(golden[i]->key.case_id, VerifyFile(*golden[i], named.At(i), options.recompute)); },
      [&](size_t i, const std::string& why) {
        const std::string& id = golden[i]->key.case_id;
        findings.Add(id, GoldenFinding{"failed", id, why});
      });
  return ReportFindings(options, golden.size() + damaged.size(), "golden values", findings.Sorted());
}

int VerifyManifest(const GoldenOptions& options) {
  auto manifest = ReadGoldenManifest(options.manifest);
  if (!manifest) return Complain(kExitUsage, manifest.error().message);
  std::erase_if(*manifest, [&](const ManifestEntry& e) { return !MatchesFilter(options.run.selection.filter, e.id); });
  if (manifest->empty()) {
    return Complain(kExitNothing, fmt::format("{}: --filter {} matches none of its cases", options.manifest,
                                              options.run.selection.filter));
  }
  NameMatcher named;
  for (const ManifestEntry& entry : *manifest) {
    const auto spec = SpecOfId(entry.id);
    if (!spec) return Complain(kExitUsage, fmt::format("{}: {}", options.manifest, spec.error().message));
    named.Add(*spec);
  }
  GoldenFindings findings(manifest->size(), Progress::ParseMode(options.run.progress));
  const auto verify = [&](size_t i) {
    const ManifestEntry& pinned = (*manifest)[i];
    const auto bound = named.At(i);
    const auto compute = [](const SharedCase& of) {  // whatever a store holds
      return EntryOf(*of, GoldenStore(std::filesystem::path()));
    };
    const auto now = bound.and_then(compute);
    std::optional<GoldenFinding> finding;
    if (!now) finding = {"failed", pinned.id, now.error().message};
    if (now && now->inputs != pinned.inputs) {
      finding = {"different", pinned.id, fmt::format("inputs {}, pinned {}", now->inputs, pinned.inputs)};
    } else if (now && now->golden != pinned.golden) {
      finding = {"different", pinned.id, fmt::format("golden value {}, pinned {}", now->golden, pinned.golden)};
    }
    findings.Add(pinned.id, finding);
  };
  ForEachCase(named.cases(), verify, [&](size_t i, const std::string& why) {
    findings.Add((*manifest)[i].id, GoldenFinding{"failed", (*manifest)[i].id, why});
  });
  return ReportFindings(options, manifest->size(), "pinned values", findings.Sorted());
}

}  // namespace

int VerifyGoldens(const GoldenOptions& options) {
  return options.manifest.empty() ? VerifyStore(options) : VerifyManifest(options);
}

}  // namespace assay::cli
