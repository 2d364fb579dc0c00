// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "harness/base/parallel.h"
#include "harness/base/text.h"
#include "harness/cases/host_memory.h"
#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/plan/catalog.h"
#include "ops/operator.h"

namespace assay::cli {
namespace {

constexpr double kLargeFlops = 1e8;  // worth all threads: tens of milliseconds

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kByteUnits[] = {{"", 1},        {"k", 1e3},     {"M", 1e6},     {"G", 1e9},    {"T", 1e12},
                               {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
constexpr Unit kAgeUnits[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}};

std::optional<double> ParseUnit(std::string_view text, std::span<const Unit> units) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = ParseNumber<double>(text.substr(0, digits));
  for (const Unit& unit : units) {
    if (number && text.substr(digits) == unit.name) return *number * unit.factor;
  }
  return std::nullopt;
}

bool IsLarge(const CaseSpec& spec) {
  const Operator* op = OperatorRegistry::Global().Find(spec.op);
  const auto problem = op->Bind(spec);
  return problem && problem->flops > kLargeFlops;
}

}  // namespace

std::optional<int64_t> ParseBytes(std::string_view text) {
  const auto bytes = ParseUnit(text, kByteUnits);
  if (!bytes || !(*bytes < 0x1p62)) return std::nullopt;
  return static_cast<int64_t>(*bytes);
}

std::optional<double> ParseAge(std::string_view text) {
  return ParseUnit(text, kAgeUnits);
}

std::string BytesText(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string AgeText(double seconds) {
  const Unit* unit = kAgeUnits;
  for (const Unit& larger : kAgeUnits) {
    if (seconds >= larger.factor && larger.name != "w") unit = &larger;
  }
  return fmt::format("{:.0f} {}", std::floor(seconds / unit->factor), unit->name);
}

std::string VersionText(const StoreFile& file) {
  return fmt::format("{}.{}", file.generator_version, file.golden_version);
}

Result<GoldenStore> StoreOf(const GoldenOptions& options) {
  const std::filesystem::path root =
      options.store.empty() ? GoldenStore::DefaultRoot() : std::filesystem::path(options.store);
  if (!root.empty()) return GoldenStore(root);
  return UsageError("there is no store: neither ASSAY_GOLDEN_STORE nor HOME is set; give --store DIR");
}

int WithCases(const GoldenOptions& options,
              const std::function<int(const std::vector<CaseSpec>&, const GoldenStore&)>& work) {
  const auto store = StoreOf(options);
  if (!store) return Complain(kExitUsage, store.error().message);
  const auto run = PlanCases(options.selection);
  if (!run) return Complain(kExitUsage, run.error().message);
  if (run->selection.empty == EmptyReason::kNoMatch) return Complain(kExitNothing, run->selection.empty_message);
  std::vector<CaseSpec> cases;
  for (const PlannedCase& planned : run->selection.cases) cases.push_back(planned.spec);
  return work(cases, *store);
}

Result<std::vector<StoreFile>> FilesOf(const GoldenOptions& options) {
  const auto store = StoreOf(options);
  if (!store) return tl::unexpected(store.error());
  auto files = ListStore(store->root());
  if (files) {
    std::erase_if(*files, [&](const StoreFile& f) {
      return !f.key.case_id.empty() && !MatchesFilter(options.selection.filter, f.key.case_id);
    });
  }
  return files;
}

void ForEachCase(const std::vector<CaseSpec>& cases, const std::function<void(size_t)>& work,
                 const std::function<void(size_t, const std::string&)>& failed) {
  const auto guarded = [&](size_t i) {
    try {
      work(i);
    } catch (const std::exception& e) {
      failed(i, DescribeException(e));
    }
  };
  std::vector<size_t> small, large;
  for (size_t i = 0; i < cases.size(); ++i) (IsLarge(cases[i]) ? large : small).push_back(i);
  for (const size_t i : large) guarded(i);
  ParallelFor(std::ssize(small), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) guarded(small[static_cast<size_t>(i)]);
  });
}

}  // namespace assay::cli
