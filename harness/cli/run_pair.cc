// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_pair.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/terminal/output.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/missing.h"
#include "harness/plan/per_backend.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

Json EnvironmentOf(const fs::path& run) {
  const auto text = ReadWholeFile(run / "environment.json");
  return ParseJson(text.value_or(""));
}

// A text for each member, in the order of their names: the file may have been written by another version, or sorted.
std::string SortedText(const Json& value) {
  if (!value.is_object()) return DumpJson(value);
  std::map<std::string, std::string> members;
  for (const auto& [key, member] : value.items()) members[key] = DumpJson(member);
  return fmt::format("{}", members);
}

// Properties of the host that times by its clock depend on; "" if unknown.
std::string HostOf(const Json& environment) {
  if (!environment.is_object()) return "";
  std::string host;
  for (const char* key : {"cpu", "cores", "variables"}) {
    if (const auto it = environment.find(key); it != environment.end())
      host += (host.empty() ? "" : ", ") + SortedText(*it);
  }
  return host;
}

// Reads the launch time of each backend that has records.
std::map<std::string, double> ReadLaunches(const Json& environment, const RecordView& records) {
  std::map<std::string, double> found;
  const std::string text = TextIn(environment, "launch_us");
  if (text.empty()) return found;
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, ',')) words.emplace_back(Trim(word));
  const auto launches = ParsePerBackend(words);
  if (!launches) return found;
  for (const Record& r : records) {
    if (const auto launch_us = ForBackend(*launches, r.backend)) found[r.backend] = *launch_us;
  }
  return found;
}

// Finds the name that a backend's plugin gives itself, whatever name it ran under; "" when that is not known. A file of
// kernels in Python is called by its file's name, which says nothing of what is in it.
constexpr const char* kKernelsName = "kernels in Python";
std::string PluginName(const Json& environment, std::string_view backend) {
  if (!environment.is_object()) return "";
  const auto backends = environment.find("backends");
  if (backends == environment.end() || !backends->is_array()) return "";
  for (const auto& device : *backends) {
    if (TextIn(device, "backend") != backend) continue;
    if (fs::path(TextIn(device, "plugin")).extension() == ".py") return kKernelsName;
    if (std::string name = TextIn(device, "plugin_name"); !name.empty()) return name;
  }
  return "";
}

std::string BackendsIn(const RecordView& records) {
  std::set<std::string> known;
  for (const Record& r : records) known.insert(r.backend);
  return fmt::format("{}", fmt::join(known, ", "));
}

// Empty if the run has none.
Result<RunPassports> ReadPassportsOf(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return RunPassports();
  const auto text = ReadWholeFile(file);
  if (!text) return tl::unexpected(text.error());
  auto passports = RunPassports::Read(ParseJson(*text));
  return passports ? passports : UsageError(fmt::format("{}: {}", file.string(), passports.error().message));
}

// One backend of a run under the name of another.
Result<RunToCompare> TakeBuild(const RunToCompare& run, std::string_view backend, std::string_view shown_as) {
  RunToCompare build{fmt::format("{} ({})", run.name, backend), {}, run.offers_known, run.host, run.torn};
  if (const auto it = run.launches_us.find(std::string(backend)); it != run.launches_us.end()) {
    build.launches_us.emplace(shown_as, it->second);
  }
  for (const Record& r : run.records) {
    if (r.backend != backend) continue;
    build.records.push_back(r);
    build.records.back().backend = shown_as;
  }
  if (!build.records.empty()) return build;
  return UsageError(
      fmt::format("--builds: {} has no backend '{}'; it has {} (of which implementations are compared by their names)",
                  run.name, backend, BackendsIn(run.records)));
}

// Implementations of equal names are the same code only where both plugins are builds of one backend.
Status CheckAreBuildsOfOne(const Json& environment, std::string_view base, std::string_view now, std::string& note) {
  const std::string first = PluginName(environment, base), second = PluginName(environment, now);
  if (first.empty() || second.empty()) {
    note = fmt::format(
        "it is unknown whether '{}' and '{}' are builds of one backend: no environment.json has the names of their "
        "plugins",
        base, now);
    return {};
  }
  if (first == second) return {};
  return UsageError(fmt::format(
      "--builds: '{}' and '{}' are no builds of one backend: their plugins call themselves '{}' and '{}', so "
      "equal names of implementations say nothing. Give two builds of one plugin, as with --plugin "
      "base=A.so --plugin new=B.so; how backends differ is in the report of the run",
      base, now, first, second));
}

}  // namespace

Result<RunToCompare> ReadRunToCompare(const fs::path& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  auto run = is_folder ? ReadRun(path) : ReadRecordsAlone(path);
  if (!run) return tl::unexpected(run.error());
  for (const std::string& note : run->notes) Note(note);
  if (run->records.empty()) {
    return UsageError(run->empty.empty() ? fmt::format("{} has no records", path.string())
                                         : fmt::format("{}: {}", path.string(), run->empty));
  }
  const bool offers_known = is_folder && fs::exists(path / "plan.json", error) && fs::exists(path / kOffersFile, error);
  const Json environment = is_folder ? EnvironmentOf(path) : Json();
  if (is_folder && !environment.is_object() && fs::exists(path / "environment.json", error)) {
    Note(fmt::format("{} is damaged, so the host of that run is unknown; only records are compared",
                     (path / "environment.json").string()));
  }
  std::map<std::string, double> launches_us = ReadLaunches(environment, run->records);
  auto passports = is_folder ? ReadPassportsOf(path / kPassportsFile) : RunPassports();
  if (!passports) return tl::unexpected(passports.error());
  return RunToCompare{.name = path.string(),
                      .records = run->records.ToVector(),
                      .offers_known = offers_known,
                      .host = HostOf(environment),
                      .torn = is_folder ? "" : run->torn,
                      .launches_us = std::move(launches_us),
                      .definitions = std::move(run->definitions),
                      .passports = *std::move(passports)};
}

Result<RunPair> ReadRuns(const fs::path& base, const fs::path& now) {
  auto before = ReadRunToCompare(base);
  if (!before) return tl::unexpected(before.error());
  auto after = ReadRunToCompare(now);
  if (!after) return tl::unexpected(after.error());
  return RunPair{std::move(*before), std::move(*after), ""};
}

Result<RunPair> ReadBuilds(const fs::path& run, const std::string& builds) {
  auto both = ReadRunToCompare(run);
  if (!both) return tl::unexpected(both.error());
  const std::vector<std::string_view> names = Split(builds, ',');
  if (names.size() != 2) {
    return UsageError(fmt::format("--builds: '{}' is not two backends, BASE,NEW; {} has {}", builds, both->name,
                                  BackendsIn(both->records)));
  }
  if (names[0] == names[1]) {
    return UsageError(fmt::format("--builds: both are '{}'; name the base and the new one", names[0]));
  }
  RunPair pair;
  for (const auto& [name, side] : {std::pair{names[0], &pair.base}, std::pair{names[1], &pair.now}}) {
    auto build = TakeBuild(*both, name, names[1]);
    if (!build) return tl::unexpected(build.error());
    *side = std::move(*build);
  }
  if (auto one = CheckAreBuildsOfOne(EnvironmentOf(run), names[0], names[1], pair.note); !one) {
    return tl::unexpected(one.error());
  }
  return pair;
}

}  // namespace assay::cli
