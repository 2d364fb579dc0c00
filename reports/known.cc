// SPDX-License-Identifier: Apache-2.0
#include "reports/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/summary.h"

namespace assay {
namespace {

constexpr size_t kNamed = 3;  // implementations in a row

std::string Implementations(const std::set<std::string>& names) {
  std::string out;
  size_t named = 0;
  for (const std::string& name : names) {
    if (named++ == kNamed) break;
    out += (out.empty() ? "" : ", ") + name;
  }
  return names.size() > kNamed ? fmt::format("{} and {} more", out, names.size() - kNamed) : out;
}

std::string WaiverOf(const Record& r) {
  std::string text = r.known_issue;
  if (!r.known_owner.empty()) text += ", of " + r.known_owner;
  if (!r.known_expires.empty()) text += ", until " + r.known_expires;
  return text;
}

}  // namespace

bool IsKnownFailure(const Record& r) {
  return r.outcome == "known_failure" || r.outcome == "known_flake";
}

std::vector<KnownCause> KnownCausesOf(const RecordView& records) {
  std::vector<KnownCause> causes;
  const Columns columns(records);
  ForEachRecord(records, [&](size_t index, const Record& r) {
    if (!IsKnownFailure(r)) return;
    KnownCause cause{r.known_reason, r.known_where, WaiverOf(r), "", {}, {}};
    if (r.read_on != cause.where) cause.read_on = r.read_on;
    const auto same = [&](const KnownCause& k) { return k.reason == cause.reason && k.where == cause.where; };
    auto at = std::ranges::find_if(causes, same);
    if (at == causes.end()) at = causes.insert(at, std::move(cause));
    at->members.push_back(index);
    at->implementations.insert(columns.NameOf(r));
  });
  return causes;
}

Table KnownTable(const RecordView& records, size_t limit) {
  const std::vector<KnownCause> causes = KnownCausesOf(records);
  Table table{{"results", "implementations", "waiver", "reason"}, {Align::kRight}, {}};
  for (size_t i = 0; i < std::min(limit, causes.size()); ++i) {
    const KnownCause& cause = causes[i];
    std::string reason = cause.where.empty() ? cause.reason : fmt::format("{} [{}]", cause.reason, cause.where);
    if (!cause.read_on.empty()) reason += "; read on: " + cause.read_on;
    table.rows.push_back({std::to_string(cause.members.size()), Implementations(cause.implementations), cause.waiver,
                          std::move(reason)});
  }
  if (causes.size() > limit) {
    table.rows.push_back({"", "", "", fmt::format("{} more reasons, see results.jsonl", causes.size() - limit)});
  }
  return table;
}

}  // namespace assay
