// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "reports/deciding.h"
#include "reports/elements.h"
#include "reports/html/html_parts.h"
#include "reports/known.h"
#include "reports/sweep.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

constexpr size_t kShownPerCluster = 2;
constexpr size_t kShownKnown = 20;
constexpr size_t kShownElements = 3;  // the table of results shows all that a record holds
constexpr size_t kMostCasesPerOperator = 60;

std::span<const size_t> FirstOf(const std::vector<size_t>& all, size_t most) {
  return std::span(all).first(std::min(all.size(), most));
}

Json FailureOf(Page& page, size_t place) {
  page.named.insert(place);
  const Record r = page.records[place];
  WrongElements wrong = WrongElementsOf(r);
  wrong.rows.resize(std::min(wrong.rows.size(), kShownElements));
  return {
      {"record", place}, {"decided", DecidingText(DecidingCheckOf(r))}, {"head", wrong.header}, {"rows", wrong.rows}};
}

struct MatrixLine {
  std::map<std::pair<size_t, std::string>, int64_t> counts;  // by gravity and outcome
  int64_t suspect = 0;
  Number worst_margin;  // of what passed

  void Add(const Record& r) {
    // An outcome that this version does not know counts as an error.
    const size_t gravity = GravityOf(r.outcome);
    ++counts[{gravity < VerdictStyles().size() ? gravity : GravityOf("error"), r.outcome}];
    if (r.result_class == "suspect") ++suspect;
    if (r.outcome == "pass" && r.bound_margin) worst_margin = std::max(worst_margin.value_or(0), *r.bound_margin);
  }
};

}  // namespace

Json FailuresOf(Page& page) {
  std::map<std::tuple<size_t, std::string, std::string, std::string>, std::vector<size_t>> clusters;
  ForEachRecord(page.records, [&](size_t place, const Record& r) {
    if (IsFailure(r)) clusters[{GravityOf(r.outcome), r.outcome, page.columns.NameOf(r), r.op}].push_back(place);
  });
  Json out = Json::array();
  for (const auto& [key, members] : clusters) {
    Json shown = Json::array();
    for (const size_t place : FirstOf(members, kShownPerCluster)) shown.push_back(FailureOf(page, place));
    out.push_back({{"count", members.size()}, {"shown", std::move(shown)}});
  }
  return out;
}

Json KnownFailuresOf(Page& page) {
  Json out = Json::array();
  for (const KnownCause& cause : KnownCausesOf(page.records)) {
    const auto shown = FirstOf(cause.members, kShownKnown);
    page.named.insert(shown.begin(), shown.end());
    out.push_back({{"count", cause.members.size()},
                   {"reason", cause.reason},
                   {"where", cause.where},
                   {"note", cause.waiver + (cause.waiver.empty() ? "" : "; ") + cause.where +
                                (cause.read_on.empty() ? "" : "; read on: " + cause.read_on)},
                   {"shown", std::vector(shown.begin(), shown.end())}});
  }
  return out;
}

Json MatrixOf(const Page& page) {
  std::vector<std::string> backends;  // in the order of the records
  std::map<std::array<std::string, 4>, MatrixLine> lines;
  for (const Record& r : page.records) {
    const std::string backend = page.columns.BackendOf(r);
    if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
    lines[{r.op, r.dtype, backend, r.implementation}].Add(r);
  }
  Json out = {{"backends", backends}, {"lines", Json::array()}};
  for (const auto& [key, line] : lines) {
    Json counts = Json::array();
    for (const auto& [outcome, count] : line.counts) counts.push_back({outcome.second, count});
    Json entry = {{"op", key[0]}, {"dtype", key[1]}, {"backend", key[2]}, {"name", key[3]}, {"counts", counts}};
    if (line.suspect > 0) entry["suspect"] = line.suspect;
    if (line.worst_margin && std::isfinite(*line.worst_margin)) {
      entry["margin"] = *line.worst_margin;
      entry["margin_text"] = MarginText(*line.worst_margin);
    }
    out["lines"].push_back(std::move(entry));
  }
  return out;
}

Json TimedCasesOf(Page& page) {
  struct Case {
    std::vector<size_t> results;
    double work = 0;
  };
  std::map<std::string, std::map<std::string, Case>> ops;
  ForEachRecord(page.records, [&](size_t place, const Record& r) {
    if (!Timed(r)) return;
    Case& item = ops[r.op][r.case_id];
    item.results.push_back(place);
    item.work = std::max({item.work, r.flops.value_or(0), r.bytes.value_or(0)});
  });
  Json out = Json::array();
  for (const auto& [op, cases] : ops) {
    std::vector<const Case*> order;
    for (const auto& [id, item] : cases) order.push_back(&item);
    std::ranges::stable_sort(order, std::greater<>(), &Case::work);
    order.resize(std::min(order.size(), kMostCasesPerOperator));
    Json shown = Json::array();
    for (const Case* item : order) {
      page.named.insert(item->results.begin(), item->results.end());
      shown.push_back(item->results);
    }
    out.push_back({{"op", op}, {"count", cases.size()}, {"cases", std::move(shown)}});
  }
  return out;
}

Json SweepCurvesOf(Page& page) {
  Json out = Json::array();
  for (const SweepGroup& group : SweepsOf(page.records)) {
    Json curves = Json::array();
    for (const SweepCurve& curve : group.curves) {
      Json points = Json::array();
      for (const SweepPointOf& point : curve.points) {
        page.named.insert(point.place);
        points.push_back({{"value", point.value}, {"record", point.place}});
      }
      const Number turn = CrossoverOf(curve);
      curves.push_back({{"backend", curve.backend}, {"points", points}, {"turn", turn ? Json(*turn) : Json()}});
    }
    out.push_back({{"key", group.key}, {"title", group.title}, {"advice", SweepAdvice(group)}, {"curves", curves}});
  }
  return out;
}

}  // namespace assay::html
