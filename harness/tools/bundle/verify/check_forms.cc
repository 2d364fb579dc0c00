// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "harness/core/base/json_text.h"
#include "harness/core/base/text.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/statement.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

constexpr const char* kNames[] = {"results.jsonl", "plan.json",   "environment.json", kStatementFile,
                                  kOffersFile,     kEvidenceFile, kConformanceFile,   kControlFile};

// Every bundle has the first keys of each; the others are of some runs.
constexpr const char* kOfEnvironment[] = {
    "tool_version",   "timestamp",     "compiler",     "build_type", "os",           "kernel",
    "architecture",   "cpu",           "host_vectors", "cpu_mhz",    "cpu_flags",    "cpu_governor",
    "cores",          "memory",        "load_average", "variables",  "expectations", "processor_class",
    "machine_before", "machine_after", "backends",     "asked"};
constexpr const char* kOfDevice[] = {
    "backend",         "usable", "plugin",       "origin",   "plugin_hash", "plugin_name",  "vendor",     "version",
    "library_version", "device", "device_index", "selector", "driver",      "memory_bytes", "properties", "sandbox"};
constexpr const char* kOfStatement[] = {"format", "made", "claims", "before_the_run", "at_bundling"};

class Forms {
 public:
  Forms(const BundleContents& bundle, Verification& found) : bundle_(bundle), found_(found) {}

  void CheckNames() {
    for (const auto& [name, text] : bundle_.files) {
      const bool known = std::ranges::find(kNames, name) != std::end(kNames) || name.starts_with(kWaiverFolder) ||
                         name.starts_with("outputs/");
      if (!known) found_.Contradict("{}: unknown file in a bundle", name);
    }
  }

  // `expected`: what assay writes of what it has read.
  void CheckText(const std::string& name, const std::string& expected) {
    const std::string text = TextOfFile(bundle_.files, name);
    if (text == expected) return;
    const auto place = std::ranges::mismatch(text, expected).in1;
    found_.Contradict("{}:{}: not in the form that assay {} writes: a field is unknown, missing or malformed", name,
                      1 + std::count(text.begin(), place, '\n'), bundle_.plan.tool_version);
  }

  void CheckLines(const char* name) {
    const std::string text = TextOfFile(bundle_.files, name);
    std::string expected;
    for (const std::string_view line : Split(text, '\n')) {
      if (line.empty()) continue;
      if (const auto record = FromJsonLine(std::string(line))) expected += ToJsonLine(*record) + "\n";
    }
    CheckText(name, expected);
  }

  void CheckObject(const char* name, const Json& object) { CheckText(name, DumpJson(object, 2) + "\n"); }

  template <size_t N>
  void CheckKeys(const char* name, const Json& object, const char* const (&keys)[N]) {
    for (const char* key : keys) {
      if (!object.is_object() || !object.contains(key)) found_.Contradict("{}: it has no '{}'", name, key);
    }
  }

 private:
  const BundleContents& bundle_;
  Verification& found_;
};

}  // namespace

void CheckForms(const BundleContents& bundle, Verification& found) {
  Forms forms(bundle, found);
  forms.CheckNames();
  forms.CheckLines("results.jsonl");
  if (bundle.files.contains(kControlFile)) forms.CheckLines(kControlFile);
  forms.CheckText("plan.json", PlanJson(bundle.plan));
  std::string offers;
  for (const Offer& offer : bundle.offers) offers += ToJsonLine(offer) + "\n";
  forms.CheckText(kOffersFile, offers);
  if (bundle.sample) forms.CheckText(kEvidenceFile, EvidenceJson(*bundle.sample));
  forms.CheckObject("environment.json", bundle.environment);
  forms.CheckObject(kStatementFile, bundle.statement);
  forms.CheckKeys("environment.json", bundle.environment, kOfEnvironment);
  forms.CheckKeys(kStatementFile, bundle.statement, kOfStatement);
  for (const Json& device : ListIn(bundle.environment, "backends")) {
    if (MemberIn(device, "usable") != false) forms.CheckKeys("environment.json: backends", device, kOfDevice);
  }
  for (const char* key : {"expectations", "backends", "asked"}) {
    const Json& member = MemberIn(bundle.environment, key);
    if (!member.is_null() && !member.is_array()) found.Contradict("environment.json: '{}' is not a list", key);
  }
}

}  // namespace assay
