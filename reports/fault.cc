// SPDX-License-Identifier: Apache-2.0
#include "reports/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "harness/core/base/amounts.h"
#include "reports/incomplete.h"
#include "reports/known.h"
#include "reports/pooled.h"
#include "reports/summary.h"

namespace assay {
namespace {

constexpr std::string_view kHarness = "assay";  // the backend of a record whose case ran nowhere

constexpr std::string_view kItself = "assay itself";

using Parties = std::vector<std::pair<std::string, int64_t>>;  // in order of appearance, with results

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Whether all of it is the library's: its driver is the library, or the implementation has its name. A backend may use
// a library for one operator and kernels of its own for the others.
bool RunsLibrary(const Record& r) {
  if (r.library_version.empty()) return false;
  const std::string name = Lower(r.library_version.substr(0, r.library_version.find(' ')));
  return r.driver == r.library_version || Lower(r.implementation).find(name) != std::string::npos;
}

std::string PartyOf(const Record& r) {
  if (r.backend == kHarness || r.fault == "assay") return std::string(kItself);
  if (r.fault == "library" && !r.library_version.empty()) return r.library_version + ", a library on this machine";
  if (r.fault == "driver" && !r.driver.empty()) return fmt::format("{}, the driver of backend {}", r.driver, r.backend);
  if (r.fault == "device" && !r.device.empty()) return "the device " + r.device;
  if (r.outcome == "unexpected_pass") return "a list of known failures, which is out of date";
  if (RunsLibrary(r)) return r.library_version + ", a library on this machine";
  if (!r.driver.empty()) return fmt::format("the kernels of backend {} or their driver {}", r.backend, r.driver);
  return "backend " + r.backend;  // which names no library or driver
}

void Add(Parties& parties, const Record& r) {
  const std::string name = PartyOf(r);
  const auto at = std::ranges::find(parties, name, &Parties::value_type::first);
  if (at == parties.end()) {
    parties.emplace_back(name, 1);
  } else {
    ++at->second;
  }
}

std::string Listed(Parties parties) {
  std::ranges::stable_sort(parties, std::greater(), &Parties::value_type::second);
  std::string out;
  for (const auto& [name, count] : parties) {
    out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", name, Counted(count, "result"));
  }
  return out;
}

}  // namespace

std::string FaultLine(const RecordView& records, const EnvironmentRows& environment) {
  Parties failed, known;
  bool ran = false, harness = false;
  size_t missing = 0;
  for (const Record& r : records) {
    missing += IsMissing(r) ? 1 : 0;
    if (IsMissing(r)) continue;
    ran = ran || (r.outcome != "unsupported" && r.outcome != "unavailable");
    if (!IsKnownFailure(r) && !IsFailure(r)) continue;
    Add(IsFailure(r) ? failed : known, r);
    harness = harness || PartyOf(r) == kItself;
  }
  if (!ran) return "";
  const bool may_be_strict = IsStrict(environment) && failed.empty();
  if (const std::string strictly = may_be_strict ? StrictFailuresText(records) : ""; !strictly.empty()) {
    return fmt::format("The run is strict and fails by {}; else nothing would.", strictly);
  }
  std::string line = failed.empty() ? "No failure is new." : fmt::format("At fault: {}.", Listed(failed));
  if (failed.empty() && known.empty() && missing > 0) {
    return fmt::format("Nothing is at fault in what ran; {} {} missing.", Counted(missing, "result"),
                       missing == 1 ? "is" : "are");
  }
  if (failed.empty() && known.empty()) return "Nothing is at fault.";
  if (!known.empty()) line += fmt::format(" Failures known before: {}.", Listed(known));
  if (!harness) line += " assay itself met no error.";
  return failed.empty() ? line : line + " What a verdict rests on: harness/judge/README.md.";
}

}  // namespace assay
