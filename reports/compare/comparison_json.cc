// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"
#include "reports/compare/comparison.h"

namespace assay {
namespace {

// JSON has no NaN: null, like in a record.
Json NumberOrNull(const Number& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json ChangeTree(const Change& c) {
  return {{"aspect", Name(c.aspect)},
          {"trend", Name(c.trend)},
          {"field", c.field},
          {"base", c.base},
          {"new", c.now},
          {"amount", NumberOrNull(c.amount)},
          {"detail", c.detail},
          {"reordered", c.reordered},
          {"regression", c.regression},
          {"incomplete", c.incomplete}};
}

Json TimeTree(const TimeComparison& t) {
  if (t.verdict == TimeVerdict::kInvalid) return {{"verdict", Name(t.verdict)}, {"ratio", nullptr}, {"why", t.why}};
  return {{"verdict", Name(t.verdict)},
          {"ratio", NumberOrNull(t.ratio)},
          {"ratio_low", NumberOrNull(t.low)},
          {"ratio_high", NumberOrNull(t.high)},
          {"p_slower", NumberOrNull(t.p_slower)},
          {"p_faster", NumberOrNull(t.p_faster)},
          {"base_rounds", t.base_rounds},
          {"new_rounds", t.new_rounds},
          {"why", t.why}};
}

}  // namespace

std::string ComparisonJson(const RunComparison& comparison, int exit_code) {
  Json out;
  out["schema_version"] = 1;
  out["base"] = comparison.base;
  out["new"] = comparison.now;
  out["exit_code"] = exit_code;
  out["regressions"] = comparison.Regressions();
  out["regressed_groups"] = comparison.CountRegressedGroups();
  out["lost"] = comparison.Incomplete();
  out["notes"] = comparison.notes;
  out["groups"] = Json::array();
  for (const GroupComparison& g : comparison.groups) {
    out["groups"].push_back({{"backend", g.backend},
                             {"device", g.device},
                             {"op", g.op},
                             {"results", g.results},
                             {"regression", g.regression},
                             {"time", TimeTree(g.time)}});
  }
  out["results"] = Json::array();
  for (const ResultComparison& r : comparison.results) {
    Json result = {{"case_id", r.case_id},    {"op", r.op},
                   {"dtype", r.dtype},        {"backend", r.backend},
                   {"device", r.device},      {"implementation", r.implementation},
                   {"in_both", r.in_both},    {"changes", Json::array()},
                   {"reproduce", r.reproduce}};
    for (const Change& c : r.changes) result["changes"].push_back(ChangeTree(c));
    if (r.time.verdict != TimeVerdict::kNotTimed) result["time"] = TimeTree(r.time);
    out["results"].push_back(std::move(result));
  }
  return DumpJson(out, 2) + "\n";
}

}  // namespace assay
