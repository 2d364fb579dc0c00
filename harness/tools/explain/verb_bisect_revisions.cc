// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/explain/verb_bisect_settings.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMostGitSeconds = 600, kMostBuildSeconds = 3600;
constexpr size_t kShownHash = 12, kMostCommits = 3000;

// Variables of a hook that runs this would name another repository.
LimitedOutput RunGit(const fs::path& repository, const std::vector<std::string>& words) {
  std::vector<std::string> all{"env", "-u", "GIT_DIR",          "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE",
                               "git", "-C", repository.string()};
  all.insert(all.end(), words.begin(), words.end());
  return RunWithErrors(kMostGitSeconds, all);
}

Result<std::string> FindCommit(const RevisionSearch& search, const char* option, const std::string& revision) {
  const LimitedOutput found =
      RunGit(search.repository, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (found.end == ProgramEnd::kWell) return LastLine(found.text);
  const std::string why = LastLine(found.text);
  return UsageError(fmt::format("{} {}: {} has no such commit{}; give a hash, branch or tag", option, revision,
                                search.repository.string(), why.empty() ? "" : ": " + why));
}

// The line that says what is wrong with a build, as far as one can tell.
std::string FindErrorLine(const std::string& text) {
  std::string found;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.find("error:") != line.npos) found = Trim(line);
  }
  return found.empty() ? LastLine(text) : found;
}

bool IsHash(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() >= 40 && std::ranges::all_of(text, is_digit);
}

class Checkouts {
 public:
  explicit Checkouts(RevisionSearch search) : search_(std::move(search)), folder_(fs::absolute(search_.folder)) {}

  void Prepare(BisectSetting& setting) const {
    const fs::path place = folder_ / setting.folder, mark = folder_ / (setting.folder + ".built");
    for (size_t i = 0; i + 1 < search_.files.size(); i += 2) {
      const std::string& file = search_.files[i + 1];
      const size_t path = FindPath(file);
      setting.words.push_back(search_.files[i]);
      setting.words.push_back(file.substr(0, path) + (place / file.substr(path)).string());
    }
    if (ReadWholeFile(mark).value_or("") == search_.build + "\n") return;
    setting.problem = CheckOut(place, setting.folder);
    if (setting.problem.empty()) setting.problem = Build(place);
    if (!setting.problem.empty()) return;
    const std::string built = search_.build + "\n";
    if (auto written = WriteFileAtomically(mark, {{built.data(), built.size()}}); !written) {
      setting.problem = written.error().message;
    }
  }

  // Where the path of [name=]PATH begins.
  static size_t FindPath(const std::string& file) {
    const size_t equals = file.find('=');
    return equals == file.npos || file.find('/') < equals ? 0 : equals + 1;
  }

 private:
  // Work trees belong to a clone of its own, which shares the objects: the user's repository gets none.
  std::string CheckOut(const fs::path& place, const std::string& commit) const {
    const fs::path clone = folder_ / "repository";
    std::error_code error;
    fs::remove_all(place, error);
    fs::create_directories(folder_, error);
    std::string text;
    const auto fails = [&](const fs::path& in, const std::vector<std::string>& words) -> std::string {
      const LimitedOutput done = RunGit(in, words);
      text = LastLine(done.text);
      return done.end == ProgramEnd::kWell ? "" : fmt::format("git {} fails: {}", words[0], text);
    };
    if (!fs::exists(clone, error)) {
      std::string problem = fails(search_.repository, {"rev-parse", "--path-format=absolute", "--git-common-dir"});
      if (problem.empty()) {
        problem =
            fails(search_.repository, {"clone", "--quiet", "--shared", "--no-checkout", "--", text, clone.string()});
      }
      if (!problem.empty()) return problem;
    }
    if (std::string problem = fails(clone, {"worktree", "prune"}); !problem.empty()) return problem;
    return fails(clone, {"worktree", "add", "--quiet", "--detach", place.string(), commit});
  }

  std::string Build(const fs::path& place) const {
    if (search_.build.empty()) return "";
    const LimitedOutput done = RunWithErrors(
        kMostBuildSeconds, {"sh", "-c", "cd -- \"$1\" && eval \"$2\"", "sh", place.string(), search_.build});
    if (done.end == ProgramEnd::kWell) return "";
    if (done.end == ProgramEnd::kLate) return "building it took more than an hour";
    return "it does not build: " + FindErrorLine(done.text);
  }

  RevisionSearch search_;
  fs::path folder_;
};

Status CheckSearch(const RevisionSearch& search) {
  if (search.files.empty()) {
    return UsageError(
        "--git: give the file that each checkout has, by a path relative to it: --kernels PATH or --plugin "
        "[name=]PATH");
  }
  if (RunGit(search.repository, {"rev-parse", "--git-dir"}).end == ProgramEnd::kWell) return {};
  return UsageError(fmt::format("--git {}: it is no repository of git, or git is not installed; give its folder",
                                search.repository.string()));
}

}  // namespace

std::vector<std::string> TakeCheckoutFiles(BackendOptions& backend) {
  std::vector<std::string> files;
  for (const auto& [option, values] : {std::pair{"--plugin", &backend.plugins}, {"--kernels", &backend.kernels}}) {
    const auto is_relative = [](const std::string& file) {
      return fs::path(file.substr(Checkouts::FindPath(file))).is_relative();
    };
    for (const std::string& file : *values) {
      if (is_relative(file)) files.insert(files.end(), {option, file});
    }
    std::erase_if(*values, is_relative);
  }
  return files;
}

Result<SettingsToTry> ListRevisionSettings(const RevisionSearch& search) {
  if (auto sound = CheckSearch(search); !sound) return tl::unexpected(sound.error());
  const auto good = FindCommit(search, "--good", search.good), bad = FindCommit(search, "--bad", search.bad);
  for (const auto* commit : {&good, &bad}) {
    if (!*commit) return tl::unexpected(commit->error());
  }
  if (*good == *bad ||
      RunGit(search.repository, {"merge-base", "--is-ancestor", *good, *bad}).end != ProgramEnd::kWell) {
    return UsageError(
        fmt::format("--good {} is no ancestor of --bad {}; give the older commit as --good", search.good, search.bad));
  }
  const std::vector<std::string> listing{"log", "--first-parent", "--reverse", "--format=%H %<(60,trunc)%s"};
  SettingsToTry settings;
  for (const std::vector<std::string>& range :
       {std::vector<std::string>{"-1", *good}, std::vector<std::string>{*good + ".." + *bad}}) {
    std::vector<std::string> words = listing;
    words.insert(words.end(), range.begin(), range.end());
    const LimitedOutput listed = RunGit(search.repository, words);
    for (const std::string_view line : Split(listed.text, '\n')) {
      const std::string_view hash = line.substr(0, line.find(' '));
      if (!IsHash(hash)) continue;
      const std::string shown(hash.substr(0, kShownHash));
      settings.list.push_back({.name = shown + " " + std::string(Trim(line.substr(hash.size()))), .folder = shown});
    }
  }
  if (settings.list.size() > kMostCommits) {
    return UsageError(fmt::format("--git: more than {} commits lie between {} and {}; give two that are nearer",
                                  kMostCommits, search.good, search.bad));
  }
  settings.prepare = [checkouts = Checkouts(search)](BisectSetting& setting) { checkouts.Prepare(setting); };
  return settings;
}

}  // namespace assay::cli
