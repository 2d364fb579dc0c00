// SPDX-License-Identifier: Apache-2.0
// assay expectations: lists of known failures. `propose` writes one of what failed in a run, for a person to complete;
// `check` reads one as a run would.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/expected.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/proposed.h"

namespace assay::cli {
namespace {

int Propose(const std::filesystem::path& dir) {
  auto run = ReadRun(dir);
  if (!run) return Complain(kExitUsage, run.error().message);
  for (const std::string& note : run->notes) Note(note);
  const std::string text = ProposeExpectations(run->records, TimestampUtc().substr(0, 10));
  if (text.empty()) return Complain(kExitNothing, fmt::format("no failure in {} that a rule may cover", dir.string()));
  Print(text);
  return kExitOk;
}

int Check(const std::vector<std::string>& files) {
  const auto set = LoadExpectationSet(files);
  if (!set) return Complain(kExitUsage, set.error().message);
  for (const Expectation& rule : set->rules) {
    Print(fmt::format("{}  {}  {}{}{}{}\n", rule.where, rule.flake ? "known_flake" : "known_failure", rule.id,
                      rule.owner.empty() ? "" : ", of " + rule.owner,
                      rule.expires.empty() ? "" : ", until " + rule.expires, rule.expired ? " (expired)" : ""));
  }
  const std::vector<std::string> expired = FindExpiredRules(set->rules);
  if (expired.empty()) return kExitOk;
  return Complain(kExitFailed, fmt::format("expired: {}", fmt::join(expired, "; ")));
}

}  // namespace

void AddExpectationsVerb(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("expectations", "Known failures and waivers: propose a list, check a list");
  verb->require_subcommand(1);
  CLI::App* propose =
      verb->add_subcommand("propose", "Print a list of a run's failures; add the reason and the owner of each rule");
  auto dir = std::make_shared<std::filesystem::path>();
  propose->add_option("RUN", *dir, "output folder of a run")->required();
  propose->callback([dir, &action] { action = [dir] { return Propose(*dir); }; });
  CLI::App* check = verb->add_subcommand("check", "Read lists as a run does, and print their rules");
  auto files = std::make_shared<std::vector<std::string>>();
  check->add_option("FILES", *files, "files of known failures")->required();
  check->callback([files, &action] { action = [files] { return Check(*files); }; });
}

}  // namespace assay::cli
