// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/catalog.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "harness/base/contract.h"
#include "ops/op_info.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

// The cases of --case: ids instead of a suite.
Result<std::vector<PlannedCase>> CasesFromIds(const std::vector<std::string>& ids, const OpCatalog& ops) {
  std::vector<PlannedCase> cases;
  for (const std::string& id : ids) {
    auto spec = ParseId(id);
    if (!spec) return UsageError(fmt::format("--case {}: {}", id, spec.error().message));
    const OpSchema* schema = ops.find(spec->op);
    if (schema == nullptr) {
      return UsageError(
          fmt::format("--case {}: no operator '{}'; known: {}", id, spec->op, fmt::join(ops.names, ", ")));
    }
    auto canonical = Canonicalise(std::move(*spec), *schema);
    if (!canonical) return UsageError(fmt::format("--case {}: {}", id, canonical.error().message));
    cases.push_back({std::move(*canonical), "", {}, "", "--case"});
  }
  return cases;
}

Result<std::vector<PlannedCase>> CasesOf(const CaseOptions& options, const OpCatalog& ops) {
  if (!options.cases.empty()) return CasesFromIds(options.cases, ops);
  auto path = FindSuite(options.suite, SuiteDirectories());
  if (!path) return tl::unexpected(path.error());
  return LoadSuite(*path, ops);
}

// What the operator asks for beside the suite; nothing of a case that does not bind, which fails when it runs.
std::string AskedBy(const CaseSpec& spec) {
  const Operator* op = OperatorRegistry::Global().Find(spec.op);
  const auto problem = op->Bind(spec);
  return problem ? op->RequiredFields(*problem) : "";
}

}  // namespace

OpCatalog Catalog() {
  OpCatalog catalog;
  catalog.find = [](std::string_view name) -> const OpSchema* {
    const Operator* op = OperatorRegistry::Global().Find(name);
    return op == nullptr ? nullptr : &op->schema();
  };
  for (const Operator* op : OperatorRegistry::Global().All()) catalog.names.push_back(op->schema().op);
  return catalog;
}

std::string ExecutablePath() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

std::vector<std::string> SuiteDirectories() {
  std::vector<std::string> directories;
  if (const char* extra = std::getenv("ASSAY_SUITES"); extra != nullptr && *extra != '\0')
    directories.emplace_back(extra);
  const fs::path shipped = ShippedFolder("suites", ASSAY_SOURCE_SUITES);
  if (fs::is_directory(shipped)) directories.push_back(shipped.string());
  return directories;
}

fs::path ShippedFolder(const char* name, const char* source) {
  const fs::path prefix = fs::path(ExecutablePath()).parent_path().parent_path();
  std::error_code error;
  const bool is_build = fs::equivalent(prefix, ASSAY_BUILD_FOLDER, error);
  return is_build && !error ? fs::path(source) : prefix / "share/assay" / name;
}

Result<PlannedRun> PlanCases(const CaseOptions& options) {
  const OpCatalog ops = Catalog();
  auto cases = CasesOf(options, ops);
  if (!cases) return tl::unexpected(cases.error());
  if (!options.contract.empty()) {
    if (auto contract = ParseRequirement(options.contract); !contract) {
      return UsageError("--contract: " + contract.error().message);
    }
  }
  for (PlannedCase& c : *cases) {
    if (options.seed) c.spec.seed = *options.seed;
    if (!options.contract.empty()) c.requirement = options.contract;
    c.asked = AskedBy(c.spec);
  }
  const EnvLookup env = [](const char* name) { return std::getenv(name); };
  auto shard = ResolveShard(options.shard.value_or(""), env);
  if (!shard) return tl::unexpected(shard.error());
  if (auto touched = TouchShardStatusFiles(env); !touched) return tl::unexpected(touched.error());
  const SelectionOptions select{options.filter, options.ops, options.dtypes, {}, *shard};
  auto selection = Select(*cases, select, ops);
  if (!selection) return tl::unexpected(selection.error());
  Plan plan = MakePlan(options.cases.empty() ? options.suite : "--case", select, *selection);
  return PlannedRun{std::move(*selection), std::move(plan)};
}

}  // namespace assay::cli
