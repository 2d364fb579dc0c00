// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explore/verb_threshold_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/table.h"

namespace assay::cli {
namespace {

constexpr size_t kMostPlaces = 4;  // in a row

std::string DescribeChanges(const Threshold& t) {
  std::vector<std::string> parts;
  for (const PlanChange change : t.changes) {
    switch (change) {
      case PlanChange::kOffer:
        parts.emplace_back(t.was ? "no longer offered" : "offered");
        break;
      case PlanChange::kKernel:
        parts.push_back(fmt::format("kernel {} -> {}", t.was->kernel, t.is->kernel));
        break;
      case PlanChange::kContract:
        parts.push_back(fmt::format("contract {} -> {}", t.was->contract, t.is->contract));
        break;
      case PlanChange::kBits:
        parts.emplace_back("other bits");
        break;
      case PlanChange::kTime:
        parts.push_back(fmt::format("{:.3g} -> {:.3g} us", 1e6 * t.was->seconds, 1e6 * t.is->seconds));
        break;
      case PlanChange::kVerdict:
        break;  // has a column of its own
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string VerdictOf(const std::optional<PlanSignature>& plan) {
  return plan ? plan->verdict : "-";
}

struct ThresholdRow {
  const ExtentLadder* ladder;
  PlanKey key;
  std::string changes, verdicts;
  std::vector<std::string> places = {};
  bool IsAlike(const ThresholdRow& other) const {
    return ladder == other.ladder && key == other.key && changes == other.changes && verdicts == other.verdicts;
  }
};

std::vector<ThresholdRow> GroupRows(const std::vector<const ExtentLadder*>& ladders) {
  std::vector<ThresholdRow> rows;
  for (const ExtentLadder* ladder : ladders) {
    for (const Threshold& t : ladder->ladder.FindThresholds()) {
      ThresholdRow row{ladder, t.key, DescribeChanges(t), fmt::format("{} | {}", VerdictOf(t.was), VerdictOf(t.is))};
      auto found = std::ranges::find_if(rows, [&](const ThresholdRow& other) { return row.IsAlike(other); });
      if (found == rows.end()) found = rows.insert(rows.end(), std::move(row));
      found->places.push_back(fmt::format("{} | {}{}", t.before, t.after, t.is_open ? " (not narrowed)" : ""));
    }
  }
  return rows;
}

std::string JoinPlaces(const std::vector<std::string>& places) {
  if (places.size() <= kMostPlaces + 1) return fmt::format("{}", fmt::join(places, ", "));
  return fmt::format("{}, and {} more", fmt::join(places.begin(), places.begin() + kMostPlaces, ", "),
                     places.size() - kMostPlaces);
}

Json SideJson(const ExtentLadder& ladder, int64_t extent, const std::optional<PlanSignature>& plan) {
  Json side = {{"extent", extent}, {"case_id", ladder.case_of(extent).value().Id()}, {"offered", plan.has_value()}};
  if (!plan) return side;
  side["kernel"] = plan->kernel, side["contract"] = plan->contract, side["verdict"] = plan->verdict;
  side["bits"] = plan->bits;
  if (plan->seconds > 0) side["seconds"] = plan->seconds;
  return side;
}

}  // namespace

std::string ThresholdsText(const std::vector<const ExtentLadder*>& ladders) {
  Table table{.header = {"backend", "implementation", "operator", "types", "extent", "between", "verdicts", "change"},
              .align = {},
              .rows = {}};
  for (const ThresholdRow& row : GroupRows(ladders)) {
    table.rows.push_back({row.key.backend, row.key.implementation, row.ladder->op, row.ladder->dtypes,
                          row.ladder->extent, JoinPlaces(row.places), row.verdicts, row.changes});
  }
  return table.rows.empty() ? "" : AsText(table);
}

Json ThresholdsJson(const std::vector<const ExtentLadder*>& ladders) {
  Json json = {{"schema_version", 1}, {"ladders", Json::array()}, {"thresholds", Json::array()}};
  for (const ExtentLadder* ladder : ladders) {
    const auto& known = ladder->ladder.known();
    json["ladders"].push_back({{"op", ladder->op},
                               {"dtype", ladder->dtypes},
                               {"extent", ladder->extent},
                               {"cases", known.size()},
                               {"largest", known.rbegin()->first},
                               {"bits_compared", ladder->bits.has_value()},
                               {"taken", ladder->ladder.IsTaken()},
                               {"complete", ladder->ladder.IsComplete()}});
    for (const Threshold& t : ladder->ladder.FindThresholds()) {
      Json changes = Json::array();
      for (const PlanChange change : t.changes) changes.push_back(Name(change));
      json["thresholds"].push_back({{"op", ladder->op},
                                    {"dtype", ladder->dtypes},
                                    {"extent", ladder->extent},
                                    {"backend", t.key.backend},
                                    {"device", t.key.device},
                                    {"implementation", t.key.implementation},
                                    {"changes", std::move(changes)},
                                    {"before", SideJson(*ladder, t.before, t.was)},
                                    {"after", SideJson(*ladder, t.after, t.is)},
                                    {"narrowed", !t.is_open}});
    }
  }
  return json;
}

}  // namespace assay::cli
