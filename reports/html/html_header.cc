// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/base/amounts.h"
#include "reports/fault.h"
#include "reports/html/html_parts.h"
#include "reports/incomplete.h"
#include "reports/known.h"
#include "reports/pooled.h"
#include "reports/run_notes.h"

namespace assay::html {
namespace {

bool Ran(const Record& r) {
  return r.outcome != "unsupported" && r.outcome != "unavailable" && !IsMissing(r);
}

// Tone, symbol and text.
Json HeadlineOf(const Page& page) {
  const RecordView& records = page.records;
  int64_t failed = 0, ran = 0, missing = 0, known = 0;
  for (const Record& r : records) {
    failed += IsFailure(r) && !IsMissing(r), ran += Ran(r), missing += IsMissing(r), known += IsKnownFailure(r);
  }
  if (failed > 0) return {"bad", "✗", fmt::format("{} of {} failed", failed, Counted(ran, "result"))};
  if (ran == 0) return {"off", "∅", "Nothing ran"};
  if (missing > 0) {
    return {"broken", "?", fmt::format("Incomplete: {}, none failed", Counted(ran, "result"))};
  }
  if (const std::vector<PooledAnswer> pooled = FindPooled(records); PooledFails(pooled, false)) {
    return {"bad", "✗",
            fmt::format("None of {} failed by itself; {}", Counted(ran, "result"), PooledCountText(pooled))};
  }
  if (const std::string strictly = IsStrict(page.environment) ? StrictFailuresText(records) : ""; !strictly.empty()) {
    return {"bad", "✗", "Failed by --strict: " + strictly};
  }
  return {"ok", "✓",
          fmt::format("{} failed{}", ran == 1 ? "The only result has not" : fmt::format("None of {} results", ran),
                      known == 0 ? "" : ", apart from " + Counted(known, "known failure"))};
}

Json IncompleteOf(const RecordView& records) {
  const std::string line = IncompleteLine(records);
  if (line.empty()) return nullptr;
  std::vector<std::string> places;
  for (const auto& row : MissingTable(records).rows) places.push_back(row[0] + " of " + row[1]);
  return {line, fmt::format("{}", fmt::join(places, ", "))};
}

std::string RanText(const RecordView& records) {
  std::set<std::string> cases;
  int64_t ran = 0, rest = 0;
  for (const Record& r : records) {
    if (IsMissing(r)) continue;
    cases.insert(r.case_id);
    ++(Ran(r) ? ran : rest);
  }
  return Counted(std::ssize(cases), "case") + ", " + Counted(ran, "result") +
         (rest > 0 ? fmt::format("; {} not offered", rest) : "");
}

Json BackendsOf(const RecordView& records) {
  std::set<std::array<std::string, 4>> rows;
  for (const Record& r : records) rows.insert({r.backend, r.device, r.driver, r.library_version});
  return rows;
}

}  // namespace

void AddHeader(const Page& page, const std::string& environment_json, Json& data) {
  data["headline"] = HeadlineOf(page);
  data["fault"] = FaultLine(page.records, page.environment);
  data["notes"] = RunNotes(page.records, environment_json);
  data["incomplete"] = IncompleteOf(page.records);
  data["counts"] = CountOutcomes(page.records);
  data["suspect"] = std::ranges::count_if(page.records, [](const Record& r) { return r.result_class == "suspect"; });
  data["ran"] = RanText(page.records);
  data["backends"] = BackendsOf(page.records);
  data["environment"] = page.environment;
}

}  // namespace assay::html
