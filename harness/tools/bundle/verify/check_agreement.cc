// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <vector>

#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/statement.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

class Consistency {
 public:
  Consistency(const BundleContents& bundle, Verification& found)
      : bundle_(bundle), found_(found), environment_(bundle.environment), statement_(bundle.statement) {}

  void CheckClaims() {
    const FinishedRun& run = bundle_.run;
    const Json again = Claims(bundle_.plan, run.records, run.strict, run.interrupted);
    if (MemberIn(statement_, "claims") != again) {
      return found_.Contradict("{}: what it claims does not follow from the records: {}", kStatementFile,
                               DumpJson(again));
    }
    found_.Confirm("statement: outcomes, exit code {} and hashes of golden values follow from {}",
                   again["exit_code"].get<int>(), Counted(std::ssize(run.records), "record"));
  }

  void CheckVersions() {
    const std::string version = bundle_.plan.tool_version;
    const Json& program = MemberIn(MemberIn(statement_, "before_the_run"), "program");
    Expect(TextIn(environment_, "tool_version") == version, "environment.json: tool_version is not that of the plan");
    Expect(program.is_null() || TextIn(program, "version") == version,
           "statement.json: before_the_run has another version than the plan");
    for (const Record& r : bundle_.run.records) {
      const bool same = r.verdict == "missing" || r.tool_version == version;
      Expect(same, "results.jsonl: the tool_version of " + r.case_id + " is not that of the plan");
    }
    for (const Record& r : bundle_.control) {
      Expect(r.tool_version == version, "control/results.jsonl: the tool_version of " + r.case_id + " is another one");
    }
  }

  // Hashes of program, plugins and lists, as they were before the run and are now.
  void CheckHashes() {
    const Json &before = MemberIn(environment_, kHashesKey), &now = MemberIn(statement_, "at_bundling");
    const Json& stated = MemberIn(statement_, "before_the_run");
    Expect(stated == (before.is_null() ? Json::object() : before),
           "statement.json: before_the_run is not what environment.json has");
    Expect(!bundle_.sample || before.is_object(), "environment.json: it has no hashes of program and plugins");
    Expect(MemberIn(now, "program").is_object() && MemberIn(now, "files").is_object(),
           "statement.json: at_bundling has no hashes");
    const Json &then = MemberIn(before, "files"), &files = MemberIn(now, "files");
    std::set<std::string> paths;
    for (const Json& device : ListIn(environment_, "backends")) {
      if (!TextIn(device, "plugin").empty()) paths.insert(TextIn(device, "plugin"));
      for (const Json& library : ListIn(device, "loaded_libraries")) paths.insert(library.is_string() ? library : "");
      const std::string plugin = TextIn(device, "plugin");
      const bool hashed = then.is_null() || then.contains(plugin);
      Expect(hashed, "environment.json: there is no hash of the plugin " + plugin);
    }
    for (const std::string& path : paths) {
      Expect(files.is_object() && files.contains(path), "statement.json: at_bundling has no hash of " + path);
    }
    CheckBefore(then, paths);
    if (!files.is_object()) return;
    for (const auto& [path, hash] : files.items()) {
      Expect(paths.contains(path),
             "statement.json: at_bundling has " + path + ", which no backend of environment.json has");
      Expect(!then.is_object() || !then.contains(path) || then.at(path) == hash,
             "statement.json: " + path + " is another file than before the run");
    }
  }

  // The hashes before the run are of its plugins and of its lists of known failures.
  void CheckBefore(const Json& then, const std::set<std::string>& paths) {
    if (!then.is_object()) return;
    std::set<std::string> lists;
    for (const Json& list : ListIn(environment_, "expectations")) {
      const std::string text = list.is_string() ? list.get<std::string>() : "";
      lists.insert(text.substr(0, text.rfind(" xxh3:")));
    }
    for (const auto& [path, hash] : then.items()) {
      Expect(paths.contains(path) || lists.contains(path),
             "environment.json: there is a hash of " + path + ", which the run did not use");
    }
    for (const std::string& list : lists) Expect(then.contains(list), "environment.json: there is no hash of " + list);
  }

  // Devices of the plan, of the environment and of the records.
  void CheckDevices() {
    std::map<std::pair<std::string, std::string>, const Json*> devices;
    std::multiset<std::pair<std::string, std::string>> here, planned;
    const auto add = [&](const Json& list) {
      for (const Json& device : list) {
        if (!device.is_object()) continue;
        devices.emplace(std::pair(TextIn(device, "backend"), TextIn(device, "device")), &device);
        here.emplace(TextIn(device, "backend"), TextIn(device, device.contains("pool") ? "pool" : "device"));
      }
    };
    if (bundle_.IsMerged()) {
      for (const Json& part : merged_) add(ListIn(part, "backends"));
    } else {
      add(ListIn(environment_, "backends"));
    }
    for (const PlanDevice& device : bundle_.plan.devices) planned.emplace(device.backend, device.device);
    const std::set<std::pair<std::string, std::string>> a(here.begin(), here.end()), b(planned.begin(), planned.end());
    Expect(a == b, "environment.json: its backends and devices are not those of plan.json");
    for (const Record& r : bundle_.run.records) {
      if (r.verdict == "missing" || r.backend == kHarnessBackend) continue;
      const auto device = devices.find({r.backend, r.device});
      if (device == devices.end()) {
        Expect(false, "environment.json: it has no device '" + r.device + "' of " + r.backend);
        continue;
      }
      const Json& known = *device->second;
      const bool same = r.driver == TextIn(known, "driver") && r.library_version == TextIn(known, "library_version") &&
                        TextIn(known, "pool") == r.pool && TextIn(known, "sandbox").starts_with(r.sandbox) &&
                        r.sandbox.empty() == TextIn(known, "sandbox").empty();
      Expect(same, "results.jsonl: driver, library_version, pool or sandbox of " + r.case_id + " on " + r.backend +
                       " are not those of environment.json");
    }
    Expect(AgreesWithSandbox(), "environment.json: its sandbox is not that of its backends");
  }

  // Every result is of the time between the beginning of the run and the bundle.
  void CheckTimes() {
    std::string begin = TextIn(environment_, "timestamp");
    const std::string end = TextIn(statement_, "made");
    if (bundle_.IsMerged()) {
      for (const Json& part : merged_) begin = std::min(begin, TextIn(part, "timestamp"));
    }
    for (const auto& [records, file] : {std::pair{RecordView(bundle_.run.records), "results.jsonl"},
                                        std::pair{RecordView(bundle_.control), "control/results.jsonl"}}) {
      for (const Record& r : records) {
        const bool within = r.verdict == "missing" || (begin <= r.timestamp && r.timestamp <= end);
        Expect(within, std::string(file) + ": the timestamp of " + r.case_id + " is not between run and bundle");
      }
    }
  }

  // The run's files state the terms of each draw, place by place: other terms, another order or a draw that stands
  // twice could be chosen after the last challenge.
  void CheckTerms() {
    const std::vector<Json> stated = StatedTerms();
    const Json& said = MemberIn(environment_, kEvidenceKey);
    if (!bundle_.sample) {
      const bool none = said.is_null() && std::ranges::all_of(stated, &Json::is_null);
      return Expect(none, "evidence.json: the run kept outputs, and the bundle has no sample");
    }
    const auto& draws = bundle_.sample->draws;
    if (draws.size() != stated.size()) {
      return Expect(false, "evidence.json: its number of draws differs from the run's number of parts");
    }
    Expect(std::ranges::equal(draws, stated, {}, TermsOf),
           "environment.json: shard, commitment, challenge or count of its evidence are not those of evidence.json, or "
           "stand in another order");
    Expect(!stated.empty() && said == stated.front(),
           "environment.json: the terms of its evidence are not those of the first draw");
    for (const Shard& shard : draws | std::views::transform(&EvidenceDraw::shard)) {
      const bool fits = bundle_.IsMerged()
                            ? shard.index >= 0 && shard.index < shard.count && shard.count == draws.front().shard.count
                            : shard == bundle_.plan.shard;
      Expect(fits, "evidence.json: a draw is of another shard than the plan");
    }
  }

 private:
  // Terms of the run, or of each part of a merged run, as environment.json has them.
  std::vector<Json> StatedTerms() {
    if (!bundle_.IsMerged()) return {MemberIn(environment_, kEvidenceKey)};
    std::vector<Json> stated;
    std::set<Json> shards;
    for (const Json& part : merged_) {
      const Json &shard = MemberIn(part, "shard"), &terms = MemberIn(part, kEvidenceKey);
      Expect(shards.insert(shard).second, "environment.json: two parts of 'merged' are of one shard");
      Expect(terms.is_null() || MemberIn(terms, "shard_index") == shard,
             "environment.json: a part of 'merged' has the evidence of another shard");
      stated.push_back(terms);
    }
    return stated;
  }

  bool AgreesWithSandbox() const {
    const std::string said = TextIn(environment_, "sandbox");
    for (const Json& device : ListIn(environment_, "backends")) {
      if (!TextIn(device, "sandbox").empty()) return TextIn(device, "sandbox") == said;
    }
    return said.empty();
  }

  // Each text once: of many records the first shows it.
  void Expect(bool holds, const std::string& otherwise) {
    if (holds) return;
    if (std::ranges::find(found_.contradicted, otherwise) == found_.contradicted.end()) {
      found_.contradicted.push_back(otherwise);
    }
  }

  const BundleContents& bundle_;
  Verification& found_;
  const Json &environment_, &statement_;
  const Json& merged_ = ListIn(environment_, "merged");
};

}  // namespace

void CheckAgreement(const BundleContents& bundle, Verification& found) {
  Consistency agreement(bundle, found);
  agreement.CheckClaims();
  const size_t before = found.contradicted.size();
  agreement.CheckVersions();
  agreement.CheckHashes();
  agreement.CheckDevices();
  agreement.CheckTimes();
  agreement.CheckTerms();
  if (found.contradicted.size() == before) {
    found.Confirm(
        "agreement: versions, devices, hashes of files and times are the same in environment, plan, statement "
        "and records");
  }
  found.Open("that the program, plugins and libraries whose hashes the statement has are what ran");
}

}  // namespace assay
