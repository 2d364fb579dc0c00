// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/catalog.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "harness/core/base/build_facts.h"
#include "harness/core/base/profile.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/model/contract.h"
#include "harness/plan/find_suite.h"
#include "ops/definition_file.h"
#include "ops/operator.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

Result<PlannedCase> CaseFromId(const std::string& id, const OpCatalog& ops) {
  auto spec = ParseId(id);
  if (!spec) return tl::unexpected(spec.error());
  const OpSchema* schema = ops.find(spec->op);
  if (schema == nullptr) {
    return UnknownOperator(spec->op, ops);
  }
  auto canonical = Canonicalise(std::move(*spec), *schema);
  if (!canonical) return tl::unexpected(canonical.error());
  auto bound = ops.bind(*canonical);
  if (!bound) return tl::unexpected(bound.error());
  return PlannedCase{.spec = *std::move(canonical), .where = kFromCaseOption};
}

// Adds the cases of --case, each once. A case that the suite has too keeps the suite's settings.
Status AddCasesFromIds(const std::vector<std::string>& ids, const OpCatalog& ops, std::vector<PlannedCase>& cases) {
  std::set<std::string> known;
  for (const PlannedCase& planned : cases) known.insert(planned.spec.Id());
  for (const std::string& id : ids) {
    auto planned = CaseFromId(id, ops);
    if (!planned) return UsageError(fmt::format("--case {}: {}", id, planned.error().message));
    if (known.insert(planned->spec.Id()).second) cases.push_back(*std::move(planned));
  }
  return {};
}

struct SuiteSource {
  std::vector<PlannedCase> cases;
  std::string name;    // as the user gave it: "smoke", "--case"
  std::string origin;  // for messages
  std::string note;    // what became of --scale; ""
};

// The scale that the options ask for.
Result<SuiteScale> ScaleOf(const PlanOptions& options) {
  if (options.scale.empty()) return SuiteScale();
  const auto divisor = ParseScale(options.scale);
  if (!divisor) return UsageError("--scale: " + divisor.error().message);
  if (SuiteName(options).empty())
    return UsageError("--scale: name a suite whose lines `scale` say what may be smaller");
  return SuiteScale{.divisor = *divisor};
}

Result<SuiteSource> CasesOf(const PlanOptions& options, const OpCatalog& ops) {
  auto scale = ScaleOf(options);
  if (!scale) return tl::unexpected(scale.error());
  SuiteSource source;
  source.name = SuiteName(options);
  if (!source.name.empty()) {
    auto path = FindSuite(source.name, SuiteDirectories());
    const bool by_name = source.name.find_first_of("./") == std::string::npos;
    if (!path && by_name) return UsageError(path.error().message + ExplainMissingSuites());
    if (!path) return tl::unexpected(path.error());
    auto cases = LoadSuite(*path, ops, &*scale);
    if (!cases) return tl::unexpected(cases.error());
    source.cases = *std::move(cases);
    source.origin = "suite " + (source.cases.empty() ? *path : source.name);
    if (scale->divisor > 1 && scale->smaller == 0) {
      return UsageError(
          fmt::format("--scale {}: no line `scale KEYS` of suite {} says which extents it divides; suites "
                      "models/* have such lines",
                      options.scale, source.name));
    }
    if (scale->divisor > 1) source.note = scale->Text(), source.name += " --scale " + options.scale;
  }
  if (!options.cases.empty()) {
    if (auto added = AddCasesFromIds(options.cases, ops, source.cases); !added) return tl::unexpected(added.error());
    source.name += source.name.empty() ? "--case" : " --case";
    source.origin += source.origin.empty() ? "--case" : " and --case";
  }
  return source;
}

// Takes the swept cases in place of those of --case.
Result<std::optional<Sweep>> ApplySweep(const OpCatalog& ops, PlanOptions& options) {
  if (options.sweep.empty()) return std::optional<Sweep>();
  auto sweep = ParseSweep(options.sweep);
  if (!sweep) return UsageError("--sweep: " + sweep.error().message);
  if (options.cases.empty()) return UsageError("--sweep: name the case whose attribute it sets with --case");
  std::vector<std::string> swept;
  for (const std::string& id : options.cases) {
    auto ids = MakeSweptCases(id, *sweep, ops);
    if (!ids) return UsageError("--sweep: " + ids.error().message);
    swept.insert(swept.end(), ids->begin(), ids->end());
  }
  options.cases = std::move(swept);
  return std::optional<Sweep>(*std::move(sweep));
}

bool HasAny(const std::vector<PlannedCase>& cases, const std::vector<std::string>& ops) {
  return std::ranges::any_of(
      cases, [&](const PlannedCase& planned) { return std::ranges::find(ops, planned.spec.op) != ops.end(); });
}

// Finds the object that the linker has loaded at that address.
Dl_info LoadedAt(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? Dl_info{} : info;
}

// Path of the shared library that contains this code; "" if it is in the program, whose name the linker does not know.
fs::path OwnLibrary() {
  const Dl_info own = LoadedAt(reinterpret_cast<const void*>(&OwnPrefix));
  const Dl_info program = LoadedAt(reinterpret_cast<const void*>(getauxval(AT_PHDR)));
  if (own.dli_fname == nullptr || own.dli_fbase == program.dli_fbase) return {};
  std::error_code error;
  const fs::path path = fs::canonical(own.dli_fname, error);
  return error ? fs::path() : path;
}

}  // namespace

OpCatalog Catalog() {
  OpCatalog catalog;
  catalog.find = [](std::string_view name) -> const OpSchema* {
    const Operator* op = OperatorRegistry::Global().Find(name);
    return op == nullptr ? nullptr : &op->schema();
  };
  catalog.bind = BindCase;
  catalog.op = [](std::string_view name) { return OperatorRegistry::Global().Find(name); };
  for (const Operator* op : OperatorRegistry::Global().All()) catalog.names.push_back(op->schema().op);
  return catalog;
}

std::string SuiteName(const PlanOptions& options) {
  return options.suite.empty() && options.cases.empty() ? "default" : options.suite;
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
  const fs::path shipped = ShippedFolder("suites", "ops/suites");
  if (fs::is_directory(shipped)) directories.push_back(shipped.string());
  const fs::path compositions = CompositionsFolder();
  const auto lies_there = [&](const std::string& place) {
    std::error_code error;
    return fs::equivalent(fs::path(place).parent_path(), compositions, error);
  };
  if (std::ranges::any_of(DefinitionPlaces(), lies_there)) directories.push_back(compositions.string());
  return directories;
}

fs::path CompositionsFolder() {
  return ShippedFolder("compositions", "ops/compositions");
}

fs::path OwnPrefix() {
  const fs::path library = OwnLibrary();
  return (library.empty() ? fs::path(ExecutablePath()) : library).parent_path().parent_path();
}

fs::path ShippedFolder(const char* name, const char* in_tree) {
  const fs::path prefix = OwnPrefix();
  std::error_code error;
  const bool is_build = fs::equivalent(prefix, kBuildFolder, error);
  return is_build && !error ? fs::path(kSourceFolder) / in_tree : prefix / "share/assay" / name;
}

std::string ExplainMissingSuites() {
  return ExplainMissingFolder("suites", "ops/suites");
}

std::string ExplainMissingFolder(const char* name, const char* in_tree) {
  const fs::path folder = ShippedFolder(name, in_tree);
  std::error_code error;
  if (fs::is_directory(folder, error)) return "";
  return fmt::format(": there is no folder {}; install or unpack the program as a whole, with its folder share",
                     folder.string());
}

std::string SuggestSuites(const std::vector<std::string>& ops, std::string_view but) {
  for (const std::string& name : ListSuites(SuiteDirectories())) {
    if (name == but) continue;
    const auto path = FindSuite(name, SuiteDirectories());
    const auto text = path ? ReadWholeFile(*path) : tl::unexpected(path.error());
    if (!text) continue;
    for (const std::string_view line : Split(*text, '\n')) {
      const std::string op(line.substr(0, line.find(' ')));
      if (std::ranges::find(ops, op) != ops.end()) return fmt::format("; suite {} has cases of {}", name, op);
    }
  }
  return "";
}

Result<PlannedRun> PlanCases(const PlanOptions& options) {
  return PlanCases(options, [](const char* name) { return std::getenv(name); });
}

Result<PlannedRun> PlanCases(PlanOptions options, const EnvLookup& env) {
  const Span span(Phase::kPlan);
  const OpCatalog ops = Catalog();
  auto sweep = ApplySweep(ops, options);
  if (!sweep) return tl::unexpected(sweep.error());
  auto source = CasesOf(options, ops);
  if (!source) return tl::unexpected(source.error());
  if (!options.contract.empty()) {
    if (auto contract = ParseRequirement(options.contract); !contract) {
      return UsageError("--contract: " + contract.error().message);
    }
  }
  for (PlannedCase& c : source->cases) {
    if (options.seed) c.spec.seed = *options.seed;  // which only data depend on
    if (!options.contract.empty()) c.requirement = options.contract;
    const SharedCase bound = c.Bound();
    c.asked = bound->op->TraitsOf(bound->problem, 0).required_fields;
  }
  auto shard = ResolveShard(options.shard.value_or(""), env);
  if (!shard) return tl::unexpected(shard.error());
  if (auto touched = TouchShardStatusFiles(env); !touched) return tl::unexpected(touched.error());
  SelectionOptions select{options.filter, options.ops, options.dtypes, {}, *shard, source->origin};
  const bool has_any = HasAny(source->cases, options.ops);
  auto selection = Select(std::move(source->cases), select, ops);
  if (!selection) return tl::unexpected(selection.error());
  if (selection->empty == EmptyReason::kNoMatch && !has_any) selection->empty_message += SuggestSuites(options.ops, "");
  Plan plan = MakePlan(source->name, select, *selection);
  return PlannedRun{std::move(*selection), std::move(plan), *std::move(sweep), std::move(source->note)};
}

}  // namespace assay
