// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/plugin_check/check_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/exec/worker.h"

namespace assay {
namespace {

Json EncodeSmallestFirst(const std::vector<Problem>& problems) {
  std::vector<const Problem*> ordered;
  for (const Problem& problem : problems) ordered.push_back(&problem);
  std::ranges::stable_sort(ordered, {}, &Problem::bytes);
  Json encoded = Json::array();
  for (const Problem* problem : ordered) {
    std::vector<BufferLayout> layouts;
    for (const Operand& input : problem->inputs) layouts.push_back(MakeLayout(input.dtype, input.shape, {}, 0));
    for (const Operand& output : problem->outputs) layouts.push_back(MakeLayout(output.dtype, output.shape, {}, 0));
    encoded.push_back(EncodeProblem(*problem, layouts));
  }
  return encoded;
}

CheckedRule RunInWorker(const PluginToCheck& plugin, const PluginCheck& check, const Json& problems) {
  Worker worker({plugin.executable, plugin.path, plugin.timeout_s, plugin.sandbox, /*loads=*/false});
  const auto status_of = [](const WorkerFailure& failure) {
    return failure.kind == FailureKind::kTimeout ? "timeout" : "crash";
  };
  Call<void> started = worker.Start();
  if (!started) return {&check, status_of(started.error()), started.error().message};
  const Json request = {
      {"plugin", plugin.path}, {"check", check.name}, {"problems", problems}, {"timeout_s", plugin.timeout_s}};
  const Call<Json> answer = worker.Request("check", request, CallLimit{plugin.timeout_s});
  if (answer) {
    Reply reply(*answer);
    CheckedRule checked{&check, reply.Text("kind", kMaxNameBytes), reply.Text("finding", kMaxTextBytes)};
    if (reply.problem().empty()) return checked;
    return {&check, "crash", reply.problem()};
  }
  return {&check, status_of(answer.error()),
          fmt::format("{}; debug it with assay check-plugin --only {}", answer.error().message, check.name)};
}

bool Lists(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool IsPluginCheck(std::string_view name) {
  const auto checks = PluginChecks();
  return std::ranges::find(checks, name, &PluginCheck::name) != checks.end();
}

std::vector<CheckedRule> RunPluginChecks(const PluginToCheck& plugin, const WantedChecks& wanted,
                                         const std::function<void(const CheckedRule&)>& done) {
  const Json problems = EncodeSmallestFirst(plugin.problems);
  std::vector<CheckedRule> all;
  const PluginCheck* closed = nullptr;  // the first gate that did not hold
  for (const PluginCheck& check : PluginChecks()) {
    if ((!wanted.only.empty() && !Lists(wanted.only, check.name)) || Lists(wanted.skip, check.name)) continue;
    if (closed != nullptr && check.needs >= closed->opens) {
      all.push_back({&check, "skip", fmt::format("needs {}", closed->name)});
    } else {
      all.push_back(RunInWorker(plugin, check, problems));
    }
    const CheckedRule& last = all.back();
    const bool is_lower = closed == nullptr || check.opens < closed->opens;
    if (check.is_gate && last.status != "ok" && last.finding.rfind("needs ", 0) != 0 && is_lower) closed = &check;
    done(last);
  }
  return all;
}

}  // namespace assay
