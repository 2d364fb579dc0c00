// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/compare/comparison.h"
#include "reports/text.h"

namespace assay {
namespace {

constexpr size_t kAnnotationsPerLevel = 10;  // that GitHub shows of one step
constexpr size_t kExamples = 3;

enum Level { kErrorLevel, kWarningLevel, kNoticeLevel };
constexpr const char* kLevelNames[] = {"error", "warning", "notice"};

// A command is one line; of its message these three characters are escaped, of a property two more.
std::string EscapedMessage(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    const bool escaped = c == '%' || c == '\r' || c == '\n';
    out += escaped ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string EscapedProperty(std::string_view text) {
  std::string out;
  for (const char c : EscapedMessage(text)) out += c == ':' ? "%3A" : c == ',' ? "%2C" : std::string(1, c);
  return out;
}

struct AnnotationGroup {
  std::string backend, op;
  Level level = kNoticeLevel;
  std::vector<const ResultComparison*> results;  // the gravest first
};

Level LevelOf(const ResultComparison& r) {
  if (IsGrave(r)) return kErrorLevel;
  const auto worse = [](const Change& c) { return c.trend == Trend::kWorse; };
  return std::any_of(r.changes.begin(), r.changes.end(), worse) ? kWarningLevel : kNoticeLevel;
}

std::vector<AnnotationGroup> GroupChanges(const RunComparison& comparison) {
  std::vector<AnnotationGroup> groups;
  std::map<std::pair<std::string, std::string>, size_t> index;
  for (const ResultComparison* r : ChangedResults(comparison)) {
    const auto [it, inserted] = index.try_emplace({r->backend, r->op}, groups.size());
    if (inserted) groups.push_back({r->backend, r->op, kNoticeLevel, {}});
    AnnotationGroup& group = groups[it->second];
    group.level = std::min(group.level, LevelOf(*r));
    group.results.push_back(r);
  }
  return groups;
}

std::string GroupMessage(const AnnotationGroup& group) {
  std::string out;
  size_t same_level = 0;
  for (const ResultComparison* r : group.results) {
    if (LevelOf(*r) != group.level) continue;
    if (++same_level > kExamples) continue;
    size_t left_out = 0;
    const Table table = ChangesTable({r}, 1, left_out);
    const auto& cells = table.rows.at(0);
    out += fmt::format("\n{}: {} -> {} {} {} {}", cells[0], cells[1].empty() ? "none" : cells[1], cells[2], cells[3],
                       cells[4], cells[5]);
  }
  const char* what = group.level == kErrorLevel     ? "regressed or lost"
                     : group.level == kWarningLevel ? "worse, no regression by the policy"
                                                    : "changed";
  std::string head = fmt::format("{} of {} changed results {}", same_level, group.results.size(), what);
  if (same_level > kExamples) out += fmt::format("\nand {} more", same_level - kExamples);
  return head + out;
}

}  // namespace

std::string ComparisonAnnotations(const RunComparison& comparison) {
  std::string out;
  for (const GroupComparison& g : comparison.groups) {
    if (!g.regression) continue;
    const std::string what = fmt::format("the time of the typical result: {} ({} to {})", PercentText(g.time.ratio),
                                         PercentText(g.time.low), PercentText(g.time.high));
    out += fmt::format("::{} title={}::{}\n", kLevelNames[kErrorLevel],
                       EscapedProperty(fmt::format("assay compare: {} on {} as a whole", g.op, g.backend)),
                       EscapedMessage(what));
  }
  const std::vector<AnnotationGroup> groups = GroupChanges(comparison);
  for (const Level level : {kErrorLevel, kWarningLevel, kNoticeLevel}) {
    std::vector<const AnnotationGroup*> of_level;
    for (const AnnotationGroup& group : groups) {
      if (group.level == level) of_level.push_back(&group);
    }
    const bool too_many = of_level.size() > kAnnotationsPerLevel;
    const size_t shown = too_many ? kAnnotationsPerLevel - 1 : of_level.size();
    for (size_t i = 0; i < shown; ++i) {
      const AnnotationGroup& group = *of_level[i];
      out += fmt::format("::{} title={}::{}\n", kLevelNames[level],
                         EscapedProperty(fmt::format("assay compare: {} on {}", group.op, group.backend)),
                         EscapedMessage(GroupMessage(group)));
    }
    if (!too_many) continue;
    std::string rest;
    for (size_t i = shown; i < of_level.size(); ++i)
      rest += fmt::format("\n{} on {}", of_level[i]->op, of_level[i]->backend);
    out += fmt::format("::{} title={}::{}\n", kLevelNames[level], EscapedProperty("assay compare: further operators"),
                       EscapedMessage(fmt::format("{} more:{}", of_level.size() - shown, rest)));
  }
  return out;
}

}  // namespace assay
