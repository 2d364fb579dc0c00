// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/parallel.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/plan/catalog.h"

namespace assay::cli {
namespace {

constexpr double kLargeFlops = 1e8;  // worth all threads: tens of milliseconds

bool IsLarge(const SharedCase& bound) {
  return bound != nullptr && bound->problem.flops > kLargeFlops;
}

// Whether the program looks for this value under another digest. Of what it cannot bind it says nothing.
bool IsOfOtherFormula(const StoreFile& file) {
  const auto spec = SpecOfId(file.key.case_id);
  if (file.kind != StoreFile::Kind::kGolden || !spec) return false;
  const auto bound = BindCase(*spec);
  if (!bound) return false;
  const std::vector<Operand>& outputs = (*bound)->problem.outputs;
  const auto output =
      file.key.output.empty() ? outputs.begin() : std::ranges::find(outputs, file.key.output, &Operand::name);
  if (output == outputs.end()) return false;
  const auto number = static_cast<size_t>(output - outputs.begin());
  return (*bound)->op->FormulaDigest((*bound)->problem, number) != file.key.formula;
}

}  // namespace

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
              const std::function<int(const std::vector<SharedCase>&, const GoldenStore&)>& work) {
  const auto store = StoreOf(options);
  if (!store) return Complain(kExitUsage, store.error().message);
  const auto run = PlanCases(options.run.selection);
  if (!run) return Complain(kExitUsage, run.error().message);
  if (run->selection.empty == EmptyReason::kNoMatch) return Complain(kExitNothing, run->selection.empty_message);
  std::vector<SharedCase> cases;
  for (const PlannedCase& planned : run->selection.cases) cases.push_back(planned.Bound());
  return work(cases, *store);
}

Result<std::vector<StoreFile>> FilesOf(const GoldenOptions& options) {
  const auto store = StoreOf(options);
  if (!store) return tl::unexpected(store.error());
  auto files = ListStore(store->root());
  if (!files) return files;
  std::erase_if(*files, [&](const StoreFile& f) {
    return !f.key.case_id.empty() && !MatchesFilter(options.run.selection.filter, f.key.case_id);
  });
  for (StoreFile& file : *files) {
    if (IsOfOtherFormula(file)) file.kind = StoreFile::Kind::kOtherFormula;
  }
  return files;
}

void ForEachCase(const std::vector<SharedCase>& cases, const std::function<void(size_t)>& work,
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
