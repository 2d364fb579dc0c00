// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/proposed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/engine/results/exit_code.h"
#include "harness/engine/results/missing.h"
#include "harness/plan/version_bound.h"

namespace assay {
namespace {

// Subject of a rule: a person looks at one defect, in one implementation of one version on one device.
using Cause = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, std::string>;

Cause CauseOf(const Record& r) {
  return {r.verdict == "flaky" ? "known_flake" : "known_failure",
          r.verdict,
          r.backend,
          r.implementation,
          r.pool.empty() ? r.device : r.pool + "*",  // any device of it may run the case the next time
          r.library_version,
          r.driver};
}

bool MayBeCovered(const Record& r) {
  static constexpr std::string_view kVerdicts[] = {"mismatch", "below_contract", "nondeterministic", "flaky", "crash",
                                                   "timeout",  "error"};
  return !IsKnown(r) && r.backend != kHarnessBackend && r.fault != kHarnessBackend && r.decided_by != "memory" &&
         std::ranges::find(kVerdicts, r.verdict) != std::end(kVerdicts);
}

// Quotes a basic string of TOML. In globs, '?' replaces special characters of names.
std::string Quoted(const std::string& text, bool glob = false) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (glob && (c == '[' || c == ']' || byte < ' ')) {
      out += '?';
    } else if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (byte < ' ' || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// "=2.6.3", of the first numbers in a text such as "oneDNN 2.6.3"; "" where it has none.
std::string Version(const std::string& text) {
  std::string version;
  for (const int64_t number : VersionIn(text)) version += fmt::format("{}{}", version.empty() ? "" : ".", number);
  return version;
}

std::string WordOf(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (!plain) c = '_';
  }
  return text;
}

// Failures with one cause.
struct Members {
  std::set<std::string> known;
  std::vector<std::string> ids;  // in order of appearance, each once: a device of the same name may fail it too
  std::string reason;            // of the first
};

std::string RuleOf(const Cause& cause, const Members& members, size_t number) {
  const auto& [kind, verdict, backend, implementation, device, library, driver] = cause;
  std::string out = fmt::format("[[{}]]\nid = \"{}-{}-{}-{}\"\n", kind, WordOf(backend),
                                implementation.empty() ? "any" : WordOf(implementation), verdict, number);
  out += "case = [\n";
  for (const std::string& id : members.ids) out += fmt::format("  {},\n", Quoted(id));
  out += fmt::format("]\nbackend = {}\n", Quoted(backend, true));
  if (!implementation.empty()) out += fmt::format("implementation = {}\n", Quoted(implementation, true));
  if (!device.empty()) out += fmt::format("device = {}\n", Quoted(device, true));
  if (const std::string version = Version(library); !version.empty()) out += fmt::format("library = \"{}\"\n", version);
  if (const std::string version = Version(driver); !version.empty()) out += fmt::format("driver = \"{}\"\n", version);
  out += fmt::format(
      "verdicts = \"{}\"\nowner = \"\"   # who answers for it\n# expires = 2027-12-31   # the last day\n", verdict);
  std::string why = members.reason;
  std::ranges::replace_if(
      why, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return out + fmt::format("reason = \"\"   # the first case says: {}\n", why);
}

}  // namespace

std::string ProposeExpectations(const RecordView& records, const std::string& today) {
  std::map<Cause, Members> causes;
  for (const Record& r : records) {
    if (!MayBeCovered(r)) continue;
    Members& members = causes[CauseOf(r)];
    if (members.ids.empty()) members.reason = r.reason;
    if (members.known.insert(r.case_id).second) members.ids.push_back(r.case_id);
  }
  if (causes.empty()) return "";
  std::string out = fmt::format(
      "# Proposed by assay {} for the failures of a run; give it to --expectations. Add the reason and the owner of "
      "each rule\n# that you keep, and delete the rest: an empty reason or owner is refused.\n",
      today);
  size_t number = 0;
  for (const auto& [cause, members] : causes) out += "\n" + RuleOf(cause, members, ++number);
  return out;
}

}  // namespace assay
