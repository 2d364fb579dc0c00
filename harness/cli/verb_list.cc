// SPDX-License-Identifier: Apache-2.0
// assay list ops|cases|suites|profiles
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "harness/cli/missing_parts.h"
#include "harness/cli/operator_table.h"
#include "harness/cli/options.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/text.h"
#include "harness/engine/cases/memory_need.h"
#include "harness/plan/catalog.h"
#include "harness/plan/find_suite.h"
#include "harness/plan/selection.h"
#include "harness/tools/bundle/conform/profile.h"
#include "ops/case_space.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/operator.h"

namespace assay::cli {
namespace {

std::string AttrText(const AttrDef& attr) {
  const char* types[] = {"int", "float", "name", "dims 2x3", "axes 0+1"};
  std::string text = fmt::format("  {:<12} {:<9}", attr.key, types[static_cast<int>(attr.type)]);
  text += attr.default_value.empty() ? "required" : "default " + attr.default_value;
  // An integer that is no flag may have other values than generated cases have.
  const auto is_of_flag = [](const std::string& choice) { return choice == "0" || choice == "1"; };
  const bool is_open = attr.type == AttrType::kInt && !std::ranges::all_of(attr.choices, is_of_flag);
  if (!attr.choices.empty())
    text += fmt::format("  {} {}", is_open ? "such as" : "one of", fmt::join(attr.choices, "|"));
  return text + (attr.doc.empty() ? "" : "  " + attr.doc);
}

// "bf16-bf16-f32" where operands differ: all types of a formula, else those of generated cases, beside which suites may
// have others.
std::string TypesText(const Operator& op) {
  if (const auto* formula = dynamic_cast<const FormulaOperator*>(&op)) return formula->TypesText();
  std::vector<std::string> types;
  for (const Knob& knob : op.Space().knobs) {
    const auto at = std::ranges::find(knob.keys, "dtypes") - knob.keys.begin();
    if (at == std::ssize(knob.keys)) continue;
    for (const auto& value : knob.values) {
      if (std::ranges::find(types, value[at]) == types.end()) types.push_back(value[at]);
    }
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

void PrintSchema(const OpSchema& schema, bool verbose) {
  fmt::print("{:<12} {}\n", schema.op, schema.doc);
  if (!verbose) return;
  fmt::print("  dtypes of    {}\n", fmt::join(schema.operands, ", "));
  const Operator* op = OperatorRegistry::Global().Find(schema.op);
  if (const std::string types = op == nullptr ? "" : TypesText(*op); !types.empty())
    fmt::print("  types        {}\n", types);
  if (schema.outputs.size() > 1) fmt::print("  outputs      {}\n", fmt::join(schema.outputs, ", "));
  for (const OperandDoc& o : schema.layouts) {
    const std::string line = fmt::format("  {:<12} {:<22} {}", o.name, o.layout, o.doc);
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  for (const AttrDef& attr : schema.attrs) fmt::print("{}\n", AttrText(attr));
}

// The types of its first operand, once each.
OperatorLine LineOf(const OpSchema& schema) {
  OperatorLine line{schema.op, {}};
  const Operator* op = OperatorRegistry::Global().Find(schema.op);
  const std::string lists = op == nullptr ? "" : TypesText(*op);
  for (std::string_view list : Split(lists, ',')) {
    list.remove_prefix(list.starts_with(' ') ? 1 : 0);
    const std::string first(list.substr(0, list.find('-')));
    if (std::ranges::find(line.types, first) == line.types.end()) line.types.push_back(first);
  }
  return line;
}

int ListOps(const std::vector<std::string>& only, bool verbose, const BackendOptions* table) {
  const OpCatalog ops = Catalog();
  std::vector<OperatorLine> lines;
  for (const std::string& name : only) {
    if (auto known = CheckOperator(name, ops); !known) return Complain(kExitUsage, known.error().message);
  }
  for (const std::string& name : ops.names) {
    const bool wanted = only.empty() || std::ranges::find(only, name) != only.end();
    if (wanted && table != nullptr) lines.push_back(LineOf(*ops.find(name)));
    if (wanted && table == nullptr) PrintSchema(*ops.find(name), verbose);
  }
  return table == nullptr ? kExitOk : PrintOperatorTable(lines, *table);
}

int ListMissing(const std::vector<std::string>& names) {
  if (names.empty()) return Complain(kExitUsage, "--missing: name an operator, as in assay list ops --missing softmax");
  int lacking = 0;
  for (const std::string& name : names) {
    if (auto known = CheckOperator(name, Catalog()); !known) return Complain(kExitUsage, known.error().message);
    const auto missing = FindMissingParts(".", name);
    if (!missing) return Complain(kExitUsage, missing.error().message);
    for (const MissingPart& part : *missing) fmt::print("{}: {} lacks {}\n", name, part.file, part.what);
    if (missing->empty()) fmt::print("{}: nothing is missing\n", name);
    lacking += missing->empty() ? 0 : 1;
  }
  return lacking == 0 ? kExitOk : kExitFailed;
}

int ListCases(const PlanOptions& options, bool verbose) {
  for (const std::string& name : options.ops) {
    const bool is_case = name.find('/') != name.npos;
    if (!is_case && (Catalog().find(name) != nullptr || !FindSuite(name, SuiteDirectories()))) continue;
    return Complain(kExitUsage, fmt::format("list cases takes names of operators: for the {0} '{1}' give --{0} {1}",
                                            is_case ? "case" : "suite", name));
  }
  auto run = PlanCases(options);
  if (!run) return Complain(kExitUsage, run.error().message);
  if (!run->note.empty()) Note(run->note);
  const Selection& selection = run->selection;
  if (selection.empty == EmptyReason::kNoMatch) return Complain(kExitNothing, selection.empty_message);
  std::string tier = RunOptions().tier;  // that of a run without --tier
  if (IsConformance(options.suite)) tier = Name(Tier::kReproducible);
  for (const PlannedCase& c : selection.cases) {
    if (!verbose) {
      fmt::print("{}\n", c.spec.Id());
      continue;
    }
    fmt::print("{}\t{}\t{}\t{}\t{}\t{:.3g} GB\n", c.spec.Id(), RequirementOf(c), fmt::join(c.tags, ","), c.source,
               c.where, 1e-9 * BytesNeeded(c.Bound()->problem, MemoryUse::kRun, tier, c.sample));
  }
  return kExitOk;
}

int PrintSuites() {
  const std::vector<std::string> names = ListSuites(SuiteDirectories());
  for (const std::string& name : names) fmt::print("{}\n", name);
  if (!names.empty()) return kExitOk;
  return Complain(kExitNothing, "this program finds no suites" + ExplainMissingSuites());
}

int PrintProfiles() {
  const std::vector<std::string> names = ListShippedProfiles();
  for (const std::string& name : names) {
    const auto profile = LoadProfile(name);
    if (!profile) return Complain(kExitHarness, profile.error().message);
    fmt::print("{}\n", profile->Title());
  }
  if (!names.empty()) return kExitOk;
  return Complain(kExitNothing, "this program finds no profiles" + ExplainMissingFolder("profiles", "ops/profiles"));
}

}  // namespace

void AddListVerb(CLI::App& app, Action& action) {
  auto run = std::make_shared<RunOptions>();
  // Apart from --op, as an option replaces what another one wrote to its list.
  auto names = std::make_shared<std::vector<std::string>>();
  const auto take_names = [=] { std::ranges::copy(*names, std::back_inserter(run->selection.ops)); };
  auto verbose = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("list", "List operators, cases, suites or profiles");
  verb->require_subcommand(1);
  CLI::App* ops =
      verb->add_subcommand("ops", "List operators; --verbose adds operands, types, attributes and defaults");
  ops->add_flag("-v,--verbose", *verbose, "print operands, types, attributes and defaults too");
  ops->add_option("NAME", *names, "only these operators");
  auto markdown = std::make_shared<bool>(false);
  ops->add_flag("--markdown", *markdown, "print a table of operators, types and usable devices instead");
  AddOptions(*ops, *run, {"--operators", "--python", "--backend", "--plugin", "--kernels", "--framework"});
  ops->add_option("--op", run->selection.ops, "only these and those of NAME, comma separated")->delimiter(',');
  auto missing = std::make_shared<bool>(false);
  ops->add_flag("--missing", *missing,
                "print what assay's sources, in the current folder, still lack of these operators; 1 if anything");
  ops->callback([=, &action] {
    take_names();
    action = [=] {
      if (*missing) return ListMissing(run->selection.ops);
      return ListOps(run->selection.ops, *verbose, *markdown ? &run->backend : nullptr);
    };
  });
  CLI::App* cases = verb->add_subcommand(
      "cases", "List the ids of cases; --verbose adds contract, tags, source, line and memory, separated by tabs");
  cases->add_flag("-v,--verbose", *verbose,
                  "print contract, tags, source, line and what a run takes of the host's memory too");
  cases->add_option("NAME", *names, "only cases of these operators and of those of --op");
  AddCases(*cases, *run);
  cases->callback([=, &action] {
    take_names();
    action = [=] { return ListCases(run->selection, *verbose); };
  });
  CLI::App* suites =
      verb->add_subcommand("suites", "List the names of suites for --suite; other suites are given by their path");
  suites->callback([&action] { action = PrintSuites; });
  CLI::App* profiles =
      verb->add_subcommand("profiles", "List the names of profiles for assay conform, and which is a draft");
  profiles->callback([&action] { action = PrintProfiles; });
}

}  // namespace assay::cli
