// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "harness/core/base/amounts.h"
#include "harness/core/data/tensor.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/results/expected.h"
#include "harness/plan/catalog.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/statement.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

class Waivers {
 public:
  Waivers(const BundleContents& bundle, Verification& found) : bundle_(bundle), found_(found) {}

  // The lists of environment.json, which the run began with, are those of the bundle.
  void ReadLists() {
    std::set<std::string> files;
    const Json& lists = ListIn(bundle_.environment, "expectations");
    for (size_t n = 0; n < lists.size(); ++n) {
      const std::string text = lists[n].is_string() ? lists[n].get<std::string>() : "";
      const size_t space = text.rfind(" xxh3:");
      if (space == std::string::npos) return Contradict("environment.json: expectations has no list with its hash");
      const std::string path = text.substr(0, space), file = WaiverFile(n, path);
      files.insert(file);
      if (!bundle_.files.contains(file)) {
        Contradict(file + ": it is missing, although the run used it");
      } else {
        ReadList(file, path, text.substr(space + 6));
      }
    }
    for (const auto& [name, contents] : bundle_.files) {
      if (name.starts_with(kWaiverFolder) && !files.contains(name)) {
        Contradict(name + ": the run did not use this list of known failures");
      }
    }
  }

  // Decides which rules have expired, as a run does once, when it begins. Shards of a merged run began by themselves.
  void DateRules() {
    if (!bundle_.IsMerged()) rules_of_[0] = CopyRulesAt(TextIn(bundle_.environment, "timestamp"));
    for (const Json& part : ListIn(bundle_.environment, "merged")) {
      const Json& shard = MemberIn(part, "shard");
      if (shard.is_number_integer()) {
        rules_of_[shard.get<int>()] = CopyRulesAt(TextIn(part, "timestamp"));
      } else {
        Contradict("environment.json: a part of what was merged says no shard");
      }
    }
  }

  // Returns how many results are waived.
  size_t CheckRecords() {
    size_t waived = 0;
    for (const Record& r : bundle_.run.records) {
      waived += IsKnown(r);
      if (r.verdict != "missing" && !FollowsFromLists(r)) {
        found_.Contradict("results.jsonl: {} of {} {}: outcome {} ({}) does not follow from the lists of the bundle",
                          r.case_id, r.backend, r.implementation, r.outcome, r.known_issue);
      }
    }
    return waived;
  }

 private:
  void ReadList(const std::string& file, const std::string& path, const std::string& hash) {
    const std::string text = TextOfFile(bundle_.files, file);
    const Json& hashes = MemberIn(MemberIn(bundle_.environment, kHashesKey), "files");
    const std::string sha256 = TextIn(hashes, path.c_str());
    if (HashHex(HashBytes(text.data(), text.size())) != hash || (!sha256.empty() && sha256 != Sha256Hex(text))) {
      return Contradict(file + ": it is not the list that the run began with");
    }
    auto list = ParseExpectations(text, path, Catalog());
    if (!list) return Contradict(list.error().message);
    std::ranges::move(list->rules, std::back_inserter(rules_));
  }

  std::vector<Expectation> CopyRulesAt(const std::string& begin) const {
    std::vector<Expectation> rules = rules_;
    for (Expectation& rule : rules) {
      rule.expired = !rule.expires.empty() && rule.expires < begin.substr(0, rule.expires.size());
    }
    return rules;
  }

  const std::vector<Expectation>& FindRulesFor(const Record& r) {
    const auto entry = bundle_.entries.find(r.case_id);
    return rules_of_[bundle_.IsMerged() && entry != bundle_.entries.end() ? entry->second->shard : 0];
  }

  // Whether a run would have made this of the record by these lists when it began. Faults of memory, which are never
  // waived, are seen by decided_by alone.
  bool FollowsFromLists(const Record& r) {
    Record again = r;
    again.outcome = again.verdict;
    again.known_issue = again.read_on = again.known_reason = again.known_where = "";
    again.known_owner = again.known_expires = "";
    if (again.fault != kHarnessBackend) again.fault = "";
    again.reason = "";
    const bool of_memory = r.decided_by == "memory" || !IsKnown(r);
    ApplyExpectations(FindRulesFor(r), of_memory && r.outcome != "unexpected_pass" && r.verdict != "pass", again);
    const bool same = again.outcome == r.outcome && again.known_issue == r.known_issue && again.fault == r.fault &&
                      again.read_on == r.read_on && again.known_reason == r.known_reason &&
                      again.known_where == r.known_where && again.known_owner == r.known_owner &&
                      again.known_expires == r.known_expires;
    return same && (again.outcome == again.verdict || r.reason.ends_with(again.reason));
  }

  void Contradict(std::string what) { found_.contradicted.push_back(std::move(what)); }

  const BundleContents& bundle_;
  Verification& found_;
  std::vector<Expectation> rules_;
  std::map<int, std::vector<Expectation>> rules_of_;  // by shard of a merged run, else of 0
};

}  // namespace

void CheckWaivers(const BundleContents& bundle, Verification& found) {
  const size_t before = found.contradicted.size();
  Waivers waivers(bundle, found);
  waivers.ReadLists();
  waivers.DateRules();
  const size_t waived = waivers.CheckRecords();
  if (found.contradicted.size() == before) {
    found.Confirm("waivers: {} waived, each by a rule that the bundle has", Counted(waived, "result"));
  }
}

}  // namespace assay
