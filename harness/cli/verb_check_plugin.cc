// SPDX-License-Identifier: Apache-2.0
// assay check-plugin X.so: whether a plugin keeps the rules of the ABI, each in a worker process of its own. Exit
// codes: 0 all hold, 1 one does not, 2 usage, 3 the plugin crashed or hung in a check.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/json_text.h"
#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/verbs.h"
#include "harness/exec/plugin_check/plugin_check.h"
#include "harness/exec/worker.h"
#include "harness/plan/catalog.h"
#include "harness/run/device/sandbox.h"
#include "ops/operator.h"

namespace assay::cli {
namespace {

struct CheckPluginOptions {
  std::string plugin;
  std::vector<std::string> cases, only, skip;
  double timeout_s = 60;
  SandboxOptions sandbox;
  bool json = false, list = false;
};

struct Checked {
  const PluginCheck* check;
  std::string status;  // ok, FAIL, skip, crash, timeout
  std::string finding;
  bool Ended() const { return status == "crash" || status == "timeout"; }  // the process, not the check
  bool Failed() const { return status == "FAIL" || Ended(); }
};

// What is offered to the plugin to try: the cases of the smoke suite, or those of --case, the smallest first.
Result<assay::Json> ProblemsToTry(const CheckPluginOptions& options) {
  CaseOptions selection;
  if (options.cases.empty()) selection.suite = "smoke";
  selection.cases = options.cases;
  const auto planned = PlanCases(selection);
  if (!planned) return tl::unexpected(planned.error());
  std::vector<Problem> problems;
  for (const PlannedCase& c : planned->selection.cases) {
    problems.push_back(c.bound->problem);
  }
  std::stable_sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  assay::Json encoded = assay::Json::array();  // not an ordered one: this goes to the worker
  for (const Problem& problem : problems) {
    std::vector<BufferLayout> layouts;
    for (const Operand& input : problem.inputs) layouts.push_back(MakeLayout(input.dtype, input.shape, {}, 0));
    for (const Operand& output : problem.outputs) layouts.push_back(MakeLayout(output.dtype, output.shape, {}, 0));
    encoded.push_back(EncodeProblem(problem, layouts));
  }
  return encoded;
}

Checked RunInWorker(const CheckPluginOptions& options, const PluginCheck& check, const assay::Json& problems) {
  const std::string plugin = std::filesystem::absolute(options.plugin).string();
  Worker worker({ExecutablePath(), plugin, options.timeout_s, SealFor(options.sandbox), /*loads=*/false});
  Call<void> started = worker.Start();
  if (!started) return {&check, "crash", started.error().message};
  const Call<assay::Json> answer =
      worker.Request("check", {{"plugin", plugin}, {"check", check.name}, {"problems", problems}}, options.timeout_s);
  if (answer) {
    Reply reply(*answer);
    Checked checked{&check, reply.Text("kind", kMaxNameBytes), reply.Text("finding", kMaxTextBytes)};
    if (reply.problem().empty()) return checked;
    return {&check, "crash", reply.problem()};
  }
  const bool hung = answer.error().outcome == Outcome::kTimeout;
  return {&check, hung ? "timeout" : "crash",
          fmt::format("{}; debug it with assay check-plugin --only {}", answer.error().message, check.name)};
}

bool Lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsCheck(const std::string& name) {
  const auto checks = PluginChecks();
  return std::any_of(checks.begin(), checks.end(), [&](const PluginCheck& check) { return check.name == name; });
}

std::vector<Checked> RunChecks(const CheckPluginOptions& options, const assay::Json& problems,
                               const std::function<void(const Checked&)>& done) {
  std::vector<Checked> all;
  const PluginCheck* closed = nullptr;  // the first gate that did not hold
  for (const PluginCheck& check : PluginChecks()) {
    if ((!options.only.empty() && !Lists(options.only, check.name)) || Lists(options.skip, check.name)) continue;
    if (closed != nullptr && check.needs >= closed->opens) {
      all.push_back({&check, "skip", fmt::format("needs {}", closed->name)});
    } else {
      all.push_back(RunInWorker(options, check, problems));
    }
    const Checked& last = all.back();
    const bool is_lower = closed == nullptr || check.opens < closed->opens;
    if (check.is_gate && last.status != "ok" && last.finding.rfind("needs ", 0) != 0 && is_lower) closed = &check;
    done(last);
  }
  return all;
}

int CheckPlugin(const CheckPluginOptions& options) {
  if (options.list) {
    for (const PluginCheck& check : PluginChecks()) fmt::print("{:<18} {}\n", check.name, check.rule);
    return kExitOk;
  }
  if (options.plugin.empty()) return Complain(kExitUsage, "check-plugin: name the plugin's .so file");
  if (!std::filesystem::is_regular_file(options.plugin)) {
    return Complain(kExitUsage, fmt::format("there is no file {}; check the path", options.plugin));
  }
  if (auto sandbox = CheckSandbox(options.sandbox); !sandbox) return Complain(kExitUsage, sandbox.error().message);
  for (const auto* names : {&options.only, &options.skip}) {
    for (const std::string& name : *names) {
      if (IsCheck(name)) continue;
      return Complain(kExitUsage, fmt::format("there is no check '{}'; see assay check-plugin --list", name));
    }
  }
  const auto problems = ProblemsToTry(options);
  if (!problems) return Complain(kExitUsage, problems.error().message);
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  const auto all = RunChecks(options, *problems, [&](const Checked& c) {
    if (options.json) {
      checks.push_back(
          {{"name", c.check->name}, {"status", c.status}, {"rule", c.check->rule}, {"finding", c.finding}});
    } else {
      fmt::print("{:<7} {:<18} {}\n", c.status, c.check->name, c.finding);
      std::fflush(stdout);
    }
  });
  const auto count = [&](auto&& holds) { return std::count_if(all.begin(), all.end(), holds); };
  const auto failed = count([](const Checked& c) { return c.Failed(); });
  const auto ended = count([](const Checked& c) { return c.Ended(); });
  const auto skipped = count([](const Checked& c) { return c.status == "skip"; });
  if (options.json) {
    const nlohmann::ordered_json out = {
        {"plugin", options.plugin}, {"checks", checks}, {"failed", failed}, {"crashed", ended}, {"skipped", skipped}};
    fmt::print("{}\n", DumpJson(out, 2));
  } else {
    fmt::print("{} checks: {} failed, {} of them by a crash or a hang; {} skipped\n", all.size(), failed, ended,
               skipped);
  }
  return ended > 0 ? kExitHarness : failed > 0 ? kExitFailed : kExitOk;
}

}  // namespace

void AddCheckPluginVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<CheckPluginOptions>();
  CLI::App* verb = app.add_subcommand("check-plugin", "Check that a plugin keeps the rules of the ABI");
  verb->add_option("plugin", o->plugin, "the plugin's .so file")->type_name("FILE");
  verb->add_option("--case", o->cases,
                   "case that the plugin offers, when it offers none of the smoke suite; may be repeated")
      ->type_name("ID");
  verb->add_option("--only", o->only, "only these checks, comma separated")->delimiter(',')->allow_extra_args(false);
  verb->add_option("--skip", o->skip, "all but these checks, comma separated")->delimiter(',')->allow_extra_args(false);
  AddNumber<double>(*verb, "--timeout", o->timeout_s, kSecondsLimits, "seconds that the plugin may take in one check");
  AddSandbox(*verb, o->sandbox);
  verb->add_flag("--list", o->list, "print the checks and what each asks for");
  verb->add_flag("--json", o->json, "print JSON instead of text");
  verb->callback([o, &action] { action = [o] { return CheckPlugin(*o); }; });
}

}  // namespace assay::cli
