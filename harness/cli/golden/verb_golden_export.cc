// SPDX-License-Identifier: Apache-2.0
// assay golden export. Exit codes: 0; 2 usage; 3 a value could not be computed or a file not be written; 4 nothing
// selected.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/replaced_file.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/data/npy.h"
#include "harness/engine/cases/prepared_case.h"

namespace assay::cli {
namespace {

std::vector<std::string> PlaneNames(const Golden& golden) {
  std::vector<std::string> names = {"value"};
  if (!golden.value_lo.empty()) names.emplace_back("value_lo");
  if (!golden.magnitude.empty()) names.emplace_back("magnitude");
  if (!golden.sigma.empty()) names.emplace_back("sigma");
  if (!golden.error.empty()) names.emplace_back("error");
  for (const auto& [name, plane] : golden.extra) names.push_back(name);
  return names;
}

TensorRef ValuesRef(const Golden& golden, const std::vector<double>& values) {
  const bool complex = golden.size() != NumElements(golden.shape);
  return {"", complex ? DType::kC128 : DType::kF64, golden.shape, values.data()};
}

TensorRef PlaneRef(const Golden& golden, const Plane& plane) {
  Shape shape = golden.shape;
  if (plane.size() == golden.size() && golden.size() != NumElements(shape)) shape.push_back(2);
  if (plane.size() != NumElements(shape)) shape = {plane.size()};
  if (plane.wide()) return {"", DType::kF64, shape, plane.f64().data()};
  return {"", DType::kF32, shape, plane.f32().data()};
}

Status WritePlane(const std::string& path, const Golden& golden, const std::string& name) {
  if (name == "value") return WriteNpy(path, ValuesRef(golden, golden.value));
  if (name == "value_lo" && !golden.value_lo.empty()) return WriteNpy(path, ValuesRef(golden, golden.value_lo));
  const Plane* plane = name == "magnitude" ? &golden.magnitude
                       : name == "sigma"   ? &golden.sigma
                       : name == "error"   ? &golden.error
                                           : golden.Extra(name);
  if (plane != nullptr && !plane->empty()) return WriteNpy(path, PlaneRef(golden, *plane));
  return UsageError(fmt::format("--plane {}: this golden value has {}", name, fmt::join(PlaneNames(golden), ", ")));
}

Result<size_t> OutputNumber(const Problem& problem, const std::string& name) {
  std::vector<std::string> names;
  for (const Operand& output : problem.outputs) names.push_back(output.name);
  const auto found = name.empty() ? names.begin() : std::ranges::find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  return UsageError(
      fmt::format("--output {}: the outputs of {} are {}", name, problem.spec.Id(), fmt::join(names, ", ")));
}

bool IsNpy(const std::string& path) {
  return path.ends_with(".npy");
}

int ExportOne(const GoldenOptions& options, const std::vector<SharedCase>& cases, const GoldenStore& store) {
  if (cases.size() != 1) {
    return Complain(kExitUsage,
                    fmt::format("{} cases are selected, and --out takes one: give --case ID", cases.size()));
  }
  const bool is_npy = IsNpy(options.out);
  const std::string plane = options.plane.value_or("value");
  const auto data = PrepareCase(*cases[0], options.run.tier, store, MemoryUse::kJudgement);
  if (!data) return Complain(kExitHarness, data.error().message);
  for (const std::string* note : {&data->note, &data->unsaved}) {
    if (!note->empty()) Note(*note);
  }
  const auto number = OutputNumber(data->problem, options.output);
  if (!number) return Complain(kExitUsage, number.error().message);
  const GoldenKey key = KeyOf(*data, *number, ChooseTier(options.run.tier, data->problem));
  const Golden& golden = data->outputs[*number].golden;
  const Status written = is_npy ? WritePlane(options.out, golden, plane) : WriteGolden(options.out, key, golden);
  if (!written)
    return Complain(written.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, written.error().message);
  Print(fmt::format("{}: {} of {}\n", options.out,
                    is_npy ? plane : fmt::format("{}", fmt::join(PlaneNames(golden), ", ")), key.case_id));
  return kExitOk;
}

int ExportManifest(const GoldenOptions& options, const std::vector<SharedCase>& cases, const GoldenStore& store) {
  std::vector<ManifestEntry> entries;
  std::vector<std::string> problems;
  std::mutex mutex;
  const auto fail = [&](size_t i, const std::string& why) {
    const std::lock_guard lock(mutex);
    problems.push_back(fmt::format("{}: {}", cases[i]->problem.spec.Id(), why));
  };
  ForEachCase(
      cases,
      [&](size_t i) {
        auto entry = EntryOf(*cases[i], store);
        if (!entry) return fail(i, entry.error().message);
        const std::lock_guard lock(mutex);
        entries.push_back(*std::move(entry));
      },
      fail);
  for (const std::string& problem : problems) Note(problem);
  if (!problems.empty()) return Complain(kExitHarness, fmt::format("{}: not written", options.manifest));
  if (auto written = WriteManifest(options.manifest, entries); !written)
    return Complain(kExitHarness, written.error().message);
  Print(fmt::format("{}: {}\n", options.manifest, Counted(static_cast<int64_t>(entries.size()), "case")));
  return kExitOk;
}

// Nothing of what was asked for is left out without a word.
Status CheckExportFits(const GoldenOptions& options) {
  const bool one = !options.out.empty();
  if (one == !options.manifest.empty()) return UsageError("give either --out or --manifest");
  if (one && !IsNpy(options.out) && !options.out.ends_with(".safetensors")) {
    return UsageError(fmt::format("--out {}: the name has to end in .safetensors or .npy", options.out));
  }
  if (options.plane && !IsNpy(options.out)) {
    return UsageError(fmt::format("--plane {}: only a .npy has one plane, {}; leave out one of them", *options.plane,
                                  one ? "a .safetensors file gets all of them" : "a manifest has hashes"));
  }
  if (!one && !options.output.empty()) {
    return UsageError(fmt::format("--output {}: a manifest has all outputs; leave the option out", options.output));
  }
  if (!one && options.run.tier == Name(Tier::kFast)) {
    return UsageError("--tier fast: a manifest needs reproducible golden values; leave the option out");
  }
  return {};
}

// Before anything is computed.
Status CheckExportTarget(const GoldenOptions& options) {
  const ReadFile read[] = {SuiteFile(options.run.selection)};
  const ResultKind values{"file of golden values", IsGoldenFile}, manifest{"manifest of golden values", IsManifestFile};
  if (options.out.empty()) return CheckMayWrite({"--manifest", options.manifest, manifest}, read);
  return CheckMayWrite({"--out", options.out, IsNpy(options.out) ? NpyResult() : values}, read);
}

}  // namespace

int ExportGolden(const GoldenOptions& options) {
  if (auto fine = CheckExportFits(options); !fine) return Complain(kExitUsage, fine.error().message);
  if (auto fine = CheckExportTarget(options); !fine) return Complain(kExitUsage, fine.error().message);
  return WithCases(options, [&](const std::vector<SharedCase>& cases, const GoldenStore& store) {
    return options.out.empty() ? ExportManifest(options, cases, store) : ExportOne(options, cases, store);
  });
}

}  // namespace assay::cli
