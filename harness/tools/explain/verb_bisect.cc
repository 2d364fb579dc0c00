// SPDX-License-Identifier: Apache-2.0
// assay bisect: the setting of an environment variable, the version of a package, or the commit of a repository with
// which a case begins to fail or to give other bits.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/options.h"
#include "harness/cli/process.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/device/interpreter.h"
#include "harness/tools/explain/bisection.h"
#include "harness/tools/explain/verb_bisect_settings.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct BisectOptions {
  std::string case_id, env, out;
  PackageSearch packages;
  RevisionSearch revisions;
  RunOptions run;
  bool each = false, json = false;
};

// A folder for the runs: the user's, or one that goes at the end.
class RunsFolder {
 public:
  static Result<RunsFolder> Make(const std::string& wanted) {
    RunsFolder folder;
    std::error_code error;
    if (wanted.empty()) {
      std::string name = (fs::temp_directory_path() / "assay-bisect-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) {
        return UsageError(fmt::format("cannot make a folder below {}; name one with --out", name));
      }
      folder.path_ = name, folder.temporary_ = true;
      return folder;
    }
    folder.path_ = wanted;
    if (fs::exists(folder.path_, error) && !fs::is_empty(folder.path_, error)) {
      return UsageError(fmt::format("--out {}: the folder is not empty; name a new one", wanted));
    }
    return folder;
  }
  RunsFolder(RunsFolder&& other) noexcept : path_(std::move(other.path_)), temporary_(other.temporary_) {
    other.temporary_ = false;
  }
  RunsFolder& operator=(RunsFolder&&) = delete;
  ~RunsFolder() {
    std::error_code error;
    if (temporary_) fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }

 private:
  RunsFolder() = default;
  fs::path path_;
  bool temporary_ = false;
};

std::string DescribeTrial(const SettingTrial& trial) {
  if (!trial.not_tried.empty())
    return fmt::format("{}: skipped, it cannot be tried: {}\n", trial.setting, trial.not_tried);
  std::string text;
  for (const SettingResult& r : trial.results) {
    text += fmt::format("{}: {} {}, output {}{}\n", trial.setting, r.implementation, r.verdict,
                        r.bits.empty() ? "none" : r.bits, r.Fails() ? ": " + r.reason : "");
  }
  return text;
}

// The line of the result that differs from those of the other setting.
std::string FindLine(const SettingTrial& trial, const SettingTrial& other, SoughtChange what) {
  const auto tells = [&](const SettingResult& r) {
    if (what == SoughtChange::kFailure && trial.Fails()) return r.Fails();
    return std::ranges::none_of(other.results, [&](const SettingResult& o) { return r.IsSameAs(o); });
  };
  const auto found = std::ranges::find_if(trial.results, tells);
  return found == trial.results.end() ? trial.results.front().reproduce : found->reproduce;
}

class BisectFlow {
 public:
  BisectFlow(const BisectOptions& options, SettingsToTry settings, const fs::path& out)
      : options_(options),
        settings_(std::move(settings.list)),
        prepare_(std::move(settings.prepare)),
        out_(out),
        trials_(settings_.size()) {
    RunOptions run = options.run;
    if (!options.packages.range.empty()) run.backend.python.clear();  // each setting has its own
    if (run.backend.backends.empty()) run.backend.backends = run.backend.frameworks;
    words_ = WriteWords(run, Effect::kNone);
    words_.insert(words_.begin(), {"--case", options.case_id});
  }

  int Run() {
    const TrySetting try_setting = [this](size_t place) -> const SettingTrial& { return Try(place); };
    const Bisection found = options_.each ? CompareEachSetting(settings_.size(), try_setting)
                                          : HalveSettings(settings_.size(), try_setting);
    if (Interrupted()) return kExitInterrupted;
    const int code = found.problem.empty() ? kExitOk : kExitNothing;
    if (options_.json) {
      Print(MakeJson(found, code));
    } else {
      for (const FoundChange& change : found.changes) Print(DescribeChange(change));
    }
    return found.problem.empty() ? code : Complain(code, found.problem);
  }

 private:
  const SettingTrial& Try(size_t place) {
    SettingTrial& trial = trials_[place];
    if (Interrupted()) {
      trial = {.setting = settings_[place].name, .results = {}, .not_tried = "interrupted", .unsteady = {}};
      return trial;
    }
    if (prepare_) prepare_(settings_[place]);
    trial = TryCase(settings_[place], words_, out_);
    order_.push_back(place);
    if (!options_.json) Print(DescribeTrial(trial));
    return trial;
  }

  // Settings between the two that could not be tried.
  std::string DescribeSkipped(const FoundChange& change) const {
    std::string names;
    for (size_t place = change.before + 1; place < change.after; ++place) {
      names += (names.empty() ? "" : ", ") + settings_[place].name;
    }
    return names.empty() ? "" : fmt::format("skipped between them: {}\n", names);
  }

  std::string DescribeChange(const FoundChange& change) const {
    const SettingTrial &before = trials_[change.before], &after = trials_[change.after];
    const bool fails = change.what == SoughtChange::kFailure;
    const auto name = [&](const SettingTrial& trial, const char* bits) {
      return fails ? trial.Fails() ? "bad" : "good" : bits;
    };
    std::string text = fmt::format("\n{} between {} and {}\n", fails ? "the verdict changes" : "the output bits change",
                                   before.setting, after.setting);
    text += DescribeSkipped(change);
    text +=
        fmt::format("last {}: {}\n  {}\n", name(before, "old"), before.setting, FindLine(before, after, change.what));
    return text +
           fmt::format("first {}: {}\n  {}\n", name(after, "new"), after.setting, FindLine(after, before, change.what));
  }

  std::string MakeJson(const Bisection& found, int code) const {
    Json out;
    out["schema_version"] = 1, out["exit_code"] = code, out["case_id"] = options_.case_id;
    out["problem"] = found.problem;
    out["tried"] = Json::array(), out["changes"] = Json::array();
    for (const size_t place : order_) {
      const SettingTrial& trial = trials_[place];
      Json results = Json::array();
      for (const SettingResult& r : trial.results) {
        results.push_back({{"implementation", r.implementation},
                           {"verdict", r.verdict},
                           {"output_hash", r.bits},
                           {"reason", r.reason},
                           {"reproduce", r.reproduce}});
      }
      out["tried"].push_back({{"setting", trial.setting},
                              {"fails", trial.Fails()},
                              {"not_tried", trial.not_tried},
                              {"unsteady", trial.unsteady},
                              {"results", std::move(results)}});
    }
    for (const FoundChange& change : found.changes) {
      out["changes"].push_back({{"what", change.what == SoughtChange::kFailure ? "verdict" : "bits"},
                                {"before", settings_[change.before].name},
                                {"after", settings_[change.after].name}});
    }
    return DumpJson(out, 2) + "\n";
  }

  const BisectOptions& options_;
  std::vector<BisectSetting> settings_;
  std::function<void(BisectSetting&)> prepare_;
  fs::path out_;
  std::vector<std::string> words_;
  std::deque<SettingTrial> trials_;
  std::vector<size_t> order_;
};

Result<SettingsToTry> ListSettings(const BisectOptions& options) {
  // Other backends would be results that no setting of this one moves, and hide that it is absent.
  if (options.run.backend.backends.empty() && options.run.backend.frameworks.empty()) {
    return UsageError("give the backend whose results are compared: --backend NAME, or --framework NAME");
  }
  if (!options.env.empty()) return ListVariableSettings(options.env);
  if (!options.revisions.repository.empty()) return ListRevisionSettings(options.revisions);
  if (options.packages.range.empty()) {
    return UsageError(
        "give what to search: --env NAME=a,b,c, --pip PACKAGE==FIRST..LAST with --venvs DIR, or --git DIR with --good "
        "REV, --bad REV and --checkouts DIR");
  }
  PackageSearch packages = options.packages;
  packages.python = ChoosePython(options.run.backend.python);
  return ListPackageSettings(packages);
}

int RunBisect(BisectOptions options) {
  WatchForInterrupts();
  if (!options.revisions.repository.empty()) options.revisions.files = TakeCheckoutFiles(options.run.backend);
  auto settings = ListSettings(options);
  if (!settings) return Complain(kExitUsage, settings.error().message);
  auto folder = RunsFolder::Make(options.out);
  if (!folder) return Complain(kExitUsage, folder.error().message);
  return BisectFlow(options, *std::move(settings), folder->path()).Run();
}

}  // namespace

void AddBisectVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<BisectOptions>();
  CLI::App* verb = app.add_subcommand("bisect",
                                      "Find the setting, version or commit with which a case begins to fail or to give "
                                      "other bits; exit 4 if there is none");
  verb->add_option("--case", o->case_id, "id of the case")->type_name("ID")->required();
  CLI::Option* env = verb->add_option("--env", o->env, "an environment variable and the values to try, in their order")
                         ->type_name("NAME=a,b,c");
  CLI::Option* pip = verb->add_option("--pip", o->packages.range, "versions of a package for --kernels or --framework")
                         ->type_name("PACKAGE==FIRST..LAST")
                         ->excludes(env);
  CLI::Option* venvs = verb->add_option("--venvs", o->packages.folder,
                                        "folder of the virtual environments, one a version, which are kept")
                           ->type_name("DIR")
                           ->needs(pip);
  pip->needs(venvs);
  verb->add_option("--with", o->packages.with, "further requirement of each of them; may be repeated")
      ->type_name("REQUIREMENT")
      ->needs(pip);
  CLI::Option* git = verb->add_option("--git", o->revisions.repository,
                                      "a repository: commits of the file of --kernels or --plugin, whose path is then "
                                      "relative to each checkout")
                         ->type_name("DIR")
                         ->excludes(env)
                         ->excludes(pip);
  CLI::Option* good = verb->add_option("--good", o->revisions.good, "the commit, branch or tag to begin with")
                          ->type_name("REV")
                          ->needs(git);
  CLI::Option* bad = verb->add_option("--bad", o->revisions.bad, "the one to end with, a descendant of it")
                         ->type_name("REV")
                         ->needs(git);
  CLI::Option* checkouts =
      verb->add_option("--checkouts", o->revisions.folder, "folder of the checkouts, one a commit, which are kept")
          ->type_name("DIR")
          ->needs(git);
  git->needs(good)->needs(bad)->needs(checkouts);
  verb->add_option("--build", o->revisions.build, "command of a shell that builds a checkout, in its folder")
      ->type_name("COMMAND")
      ->needs(git);
  verb->add_flag("--each", o->each, "try all settings, and tell each change between neighbours");
  verb->add_option("--out", o->out, "keep the runs in this folder, for assay history")->type_name("DIR");
  verb->add_flag("--json", o->json, "print JSON instead of text");
  AddBackends(*verb, o->run);
  AddOptions(*verb, o->run, {"--impl", "--operators", "--contract", "--tier", "--jobs"});
  verb->callback([o, &action] { action = [o] { return RunBisect(*o); }; });
}

}  // namespace assay::cli
