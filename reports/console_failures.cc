// SPDX-License-Identifier: Apache-2.0
// The end of the console report: what failed, each with a line to paste.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "reports/colour.h"
#include "reports/compare/between_backends.h"
#include "reports/console_parts.h"
#include "reports/deciding.h"
#include "reports/incomplete.h"
#include "reports/summary.h"
#include "reports/verdicts.h"

namespace assay {
namespace {

// Failures of one cause, as far as a record tells: outcome, implementation and operator.
struct Cluster {
  size_t first = 0, count = 0;
};

// Failures that ran, the gravest first; an outcome that this version does not know comes before all others. Missing
// results are only counted, since one cause leaves all of them.
std::vector<size_t> ListedFailures(const RecordView& records) {
  std::vector<std::pair<size_t, size_t>> listed;  // gravity, place
  ForEachRecord(records, [&](size_t index, const Record& r) {
    if (!IsFailure(r) || IsMissing(r)) return;
    const size_t gravity = GravityOf(r.outcome);
    listed.emplace_back(gravity < VerdictStyles().size() ? gravity + 1 : 0, index);
  });
  std::ranges::sort(listed);
  std::vector<size_t> places;
  for (const auto& [gravity, place] : listed) places.push_back(place);
  return places;
}

std::vector<Cluster> ClustersOf(const RecordView& records, const Columns& columns, const std::vector<size_t>& listed) {
  std::vector<Cluster> clusters;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  Record scratch;
  for (const size_t i : listed) {
    const Record& r = records.Read(i, scratch);
    const auto [at, added] = places.try_emplace({r.outcome, columns.NameOf(r), r.op}, clusters.size());
    if (added) clusters.push_back({i, 0});
    ++clusters[at->second].count;
  }
  return clusters;
}

// Lines that say which listed failures stand alone among three results of their case or more.
class OddOnes {
 public:
  OddOnes(const RecordView& records, std::span<const Cluster> clusters) {
    std::set<std::string> cases;
    for (const Cluster& cluster : clusters) cases.insert(records[cluster.first].case_id);
    ForEachRecord(records, [&](size_t, const Record& r) {
      if (cases.contains(r.case_id)) records_.push_back(r);
    });
    std::vector<const Record*> pointers;
    for (const Record& r : records_) pointers.push_back(&r);
    for (const ComparedResults& of : CompareInCases(pointers)) {
      const std::string text = OddOneOutText(of);
      if (!text.empty()) texts_[{of.case_id, NameBetween(*of.results[*of.odd])}] = text;
    }
  }
  std::string TextOf(const Record& r) const {
    const auto found = texts_.find({r.case_id, NameBetween(r)});
    return found == texts_.end() ? "" : fmt::format("    {}\n", found->second);
  }

 private:
  std::vector<Record> records_;
  std::map<std::pair<std::string, std::string>, std::string> texts_;
};

std::string FailureText(const Record& r, const std::string& implementation, size_t count, const OddOnes& odd,
                        const ConsoleStyle& style) {
  const std::string check = DecidingText(DecidingCheckOf(r));
  std::string head = count > 1 ? fmt::format("{} x {}", count, r.outcome) : r.outcome;
  const std::string outcome = fmt::format("{:<16}", head);
  const bool fits = style.width == 0 || outcome.size() + implementation.size() + r.case_id.size() + 4 <= style.width;
  std::string out = fmt::format("{}  {}{}{}\n", InColour(style.colour, ColourOf(r.outcome), outcome),
                                InColour(style.colour, kBold, implementation), fits ? "  " : "\n    ", r.case_id);
  if (!check.empty()) out += fmt::format("    decided by {}\n", check);
  if (!r.reason.empty()) out += Wrapped(r.reason, style.width, 4) + "\n";
  out += odd.TextOf(r);
  return r.reproduce.empty() ? out : out + fmt::format("    reproduce: {}\n", r.reproduce);
}

}  // namespace

std::string ConsoleFailures(const RecordView& records, const ConsoleStyle& style) {
  const Columns columns(records);
  const std::vector<size_t> listed = ListedFailures(records);
  if (listed.empty()) return "";
  const bool gathered = listed.size() > style.failures;
  std::vector<Cluster> clusters;
  if (gathered) {
    clusters = ClustersOf(records, columns, listed);
  } else {
    for (const size_t i : listed) clusters.push_back({i, 1});
  }
  std::string out = "\n" + InColour(style.colour, kBold, "Failures");
  if (gathered) out += fmt::format(": {}, one example for each outcome, implementation and operator", listed.size());
  out += "\n";
  size_t rest = listed.size();
  const auto shown = std::span<const Cluster>(clusters).first(std::min(clusters.size(), style.failures));
  const OddOnes odd(records, shown);
  for (const Cluster& cluster : shown) {
    const Record r = records[cluster.first];
    out += FailureText(r, columns.NameOf(r), cluster.count, odd, style);
    rest -= cluster.count;
  }
  if (rest > 0) out += InColour(style.colour, "31", fmt::format("and {} more: {}", rest, style.all_file)) + "\n";
  if (rest == 0 && gathered) out += fmt::format("all of them: {}\n", style.all_file);
  return out;
}

}  // namespace assay
