// SPDX-License-Identifier: Apache-2.0
// assay check-plugin X.so: whether a plugin keeps the rules of the ABI, each in a worker process of its own. Exit
// codes: 0 all hold, 1 one does not, 2 usage, 3 the plugin crashed or hung in a check, 4 no check was left.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/device/sandbox.h"
#include "harness/exec/plugin_check/check_runner.h"
#include "harness/exec/plugin_discovery.h"
#include "harness/plan/catalog.h"
#include "ops/operator.h"

namespace assay::cli {
namespace {

struct CheckPluginOptions {
  std::string plugin;
  std::vector<std::string> cases, only, skip, operators;
  std::string python;  // of the operators
  double timeout_s = 60;
  RunOptions run;
  bool json = false, list = false;
};

// Problems for the plugin to try: the cases of the smoke suite, or those of --case.
Result<std::vector<Problem>> ProblemsToTry(const CheckPluginOptions& options) {
  PlanOptions selection;
  if (options.cases.empty()) selection.suite = "smoke";
  selection.cases = options.cases;
  const auto planned = PlanCases(selection);
  if (!planned) return tl::unexpected(planned.error());
  std::vector<Problem> problems;
  for (const PlannedCase& c : planned->selection.cases) problems.push_back(c.Bound()->problem);
  return problems;
}

int CheckPlugin(const CheckPluginOptions& options) {
  if (options.list) {
    for (const PluginCheck& check : PluginChecks()) fmt::print("{:<18} {}\n", check.name, check.rule);
    return kExitOk;
  }
  if (auto sandbox = CheckSandbox(options.run.backend.sandbox); !sandbox)
    return Complain(kExitUsage, sandbox.error().message);
  if (options.plugin.empty()) return Complain(kExitUsage, "check-plugin: name the plugin's .so file");
  if (const std::string problem = FindFileProblem(options.plugin); !problem.empty())
    return Complain(kExitUsage, problem);
  for (const std::string& note :
       {FindUnset(options.run.backend.sandbox), FindPartlyGranted(options.run.backend.sandbox)}) {
    if (!note.empty()) Complain(kExitOk, note);
  }
  for (const auto* names : {&options.only, &options.skip}) {
    for (const std::string& name : *names) {
      if (IsPluginCheck(name)) continue;
      return Complain(kExitUsage, fmt::format("unknown check '{}'; assay check-plugin --list names all", name));
    }
  }
  auto problems = ProblemsToTry(options);
  if (!problems) return Complain(kExitUsage, problems.error().message);
  Json checks = Json::array();
  const PluginToCheck plugin{ExecutablePath(), std::filesystem::absolute(options.plugin).string(), options.timeout_s,
                             MakeSandboxRequest(options.run.backend.sandbox), *std::move(problems)};
  std::map<std::string, int> unasked;  // checks by what each needed in vain
  const auto all = RunPluginChecks(plugin, {options.only, options.skip}, [&](const CheckedRule& c) {
    if (!options.json && c.status == "skip" && c.finding.starts_with("needs ")) {
      ++unasked[c.finding];
    } else if (options.json) {
      checks.push_back(
          {{"name", c.check->name}, {"status", c.status}, {"rule", c.check->rule}, {"finding", c.finding}});
    } else {
      fmt::print("{:<7} {:<18} {}\n", c.status, c.check->name, c.finding);
      std::fflush(stdout);
    }
  });
  if (all.empty()) {
    return Complain(kExitNothing,
                    "check-plugin: --only and --skip leave no check; assay check-plugin --list names all");
  }
  for (const auto& [needs, checks_left] : unasked) {
    fmt::print("{:<7} {:<18} {}\n", "skip", Counted(checks_left, "check"), needs);
  }
  const auto count = [&](auto&& holds) { return std::count_if(all.begin(), all.end(), holds); };
  const auto failed = count([](const CheckedRule& c) { return c.Failed(); });
  const auto ended = count([](const CheckedRule& c) { return c.Ended(); });
  const auto skipped = count([](const CheckedRule& c) { return c.status == "skip"; });
  if (options.json) {
    const Json out = {
        {"plugin", options.plugin}, {"checks", checks}, {"failed", failed}, {"crashed", ended}, {"skipped", skipped}};
    fmt::print("{}\n", DumpJson(out, 2));
  } else {
    fmt::print("{}: {} failed, {} of them by a crash or a hang; {} skipped\n", Counted(std::ssize(all), "check"),
               failed, ended, skipped);
  }
  return ended > 0 ? kExitHarness : failed > 0 ? kExitFailed : kExitOk;
}

}  // namespace

void AddCheckPluginVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<CheckPluginOptions>();
  CLI::App* verb = app.add_subcommand("check-plugin", "Check that a plugin keeps the rules of the ABI");
  verb->add_option("plugin", o->plugin, "the plugin's .so file")->type_name("FILE");
  verb->add_option("--case", o->cases, "case to check with, if the plugin offers none of suite smoke; may be repeated")
      ->type_name("ID");
  AddOptionFor(*verb, "--operators", o->operators);
  AddOptionFor(*verb, "--python", o->python);
  RegisterOperators(*verb, o->operators, o->python);
  verb->add_option("--only", o->only, "only these checks, comma separated")->delimiter(',');
  verb->add_option("--skip", o->skip, "all but these checks, comma separated")->delimiter(',');
  AddNumber<double>(*verb, "--timeout", o->timeout_s, kSecondsLimits, "seconds that the plugin may take in one check");
  AddOptions(*verb, o->run, kSandboxOptions);
  verb->add_flag("--list", o->list, "print the checks and what each requires");
  verb->add_flag("--json", o->json, "print JSON instead of text");
  verb->callback([o, &action] { action = [o] { return CheckPlugin(*o); }; });
}

}  // namespace assay::cli
