// SPDX-License-Identifier: Apache-2.0
// Per case one dot for each implementation, always in the same order: no ranking. Backends differ by orders of
// magnitude, so the scale is logarithmic, and the same for all cases; the length of a bar would mean nothing on it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/core/base/amounts.h"
#include "reports/html/html_parts.h"
#include "reports/text.h"

namespace assay::html {
namespace {

constexpr size_t kMaxCasesPerOperator = 60;

// One logarithmic scale of whole decades for all cases of the page, so that equal places mean equal times.
struct Axis {
  double start_s = HUGE_VAL, end_s = 0;

  void Add(const Record& r) {
    const bool has_spread = !r.time_at_most_s;
    start_s = std::min({start_s, *GetBelievedSeconds(r), has_spread ? r.time_p10_s.value_or(HUGE_VAL) : HUGE_VAL});
    end_s = std::max({end_s, *GetBelievedSeconds(r), has_spread ? r.time_p90_s.value_or(0) : 0});
  }
  void RoundToDecades() {
    start_s = std::pow(10, std::floor(std::log10(start_s)));
    end_s = std::max(std::pow(10, std::ceil(std::log10(end_s))), 10 * start_s);
  }
  int Decades() const { return static_cast<int>(std::lround(std::log10(end_s / start_s))); }
  double Percent(double seconds) const {
    const double share = std::log(seconds / start_s) / std::log(end_s / start_s);
    return std::isfinite(share) ? std::clamp(100 * share, 0.0, 100.0) : 0;
  }
};

std::string Whisker(const Record& r, const Axis& axis) {
  if (!r.time_p10_s || !r.time_p90_s || r.time_at_most_s) return "";
  return fmt::format(
      "<line x1=\"{0:.2f}%\" x2=\"{1:.2f}%\" y1=\"8\" y2=\"8\"/><line x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y1=\"5\" "
      "y2=\"11\"/><line x1=\"{1:.2f}%\" x2=\"{1:.2f}%\" y1=\"5\" y2=\"11\"/>",
      axis.Percent(*r.time_p10_s), axis.Percent(*r.time_p90_s));
}

std::string Bar(const Record& r, const Axis& axis, size_t hue) {
  const double median = axis.Percent(*GetBelievedSeconds(r));
  std::string out = fmt::format("<svg class=\"bar h{}{}\" width=\"100%\" height=\"16\" aria-hidden=\"true\">", hue,
                                Comparable(r) ? "" : " struck");
  return out + Whisker(r, axis) + fmt::format("<circle cx=\"{:.2f}%\" cy=\"8\" r=\"4.5\"/></svg>", median);
}

std::string WhyNotComparable(const Record& r) {
  if (r.outcome != "pass") return r.outcome;
  return r.timing_invalid.empty() ? r.result_class : "cannot be true: " + r.timing_invalid;
}

std::string BarRow(const Record& r, const std::string& column, const Axis& axis, size_t hue) {
  std::string time = MedianTimeText(r), rate = RateText(r);
  std::string name = Escaped(column);
  if (!Comparable(r)) {
    time = "<s>" + time + "</s>";
    rate = rate.empty() ? "" : "<s>" + rate + "</s>";
    name += " <span class=\"quiet\">" + Escaped(WhyNotComparable(r)) + "</span>";
  } else if (!r.timing_unsure.empty()) {
    name += " <span class=\"quiet\">" + Escaped(r.timing_unsure) + "</span>";
  } else if (IsOfWeakerContract(r)) {
    name += " <span class=\"quiet\">weaker contract</span>";
  }
  const std::string roofline = Comparable(r) ? Escaped(RooflineText(r)) : "";
  const std::string cold = r.time_cold_median_s && Comparable(r) ? TimeText(*r.time_cold_median_s) : "";
  return fmt::format(
      "<tr><th scope=\"row\"><i class=\"dot h{}\"></i>{}</th><td "
      "class=\"plot\">{}</td><td>{}</td><td title=\"{}\">{}</td><td>{}</td><td title=\"{}\">{}</td>"
      "</tr>\n",
      hue, name, Bar(r, axis, hue), time, Escaped(r.cold_note), cold, rate, Escaped(r.roofline_note), roofline);
}

struct Case {
  std::vector<size_t> bars;  // places among the records
  double work = 0;
};

// Data shared by all cases of the section.
struct Scene {
  const Page& page;
  Axis axis;
  std::map<std::string, size_t> hues;  // one colour per backend, the same everywhere
};

std::string CaseHtml(const std::string& id, const Case& item, const Scene& scene) {
  std::string rows;
  for (const size_t bar : item.bars) {
    const Record r = scene.page.records[bar];
    const Column column = scene.page.columns.Of(r);
    rows += BarRow(r, column.Name(), scene.axis, scene.hues.at(column.backend) % 8);
  }
  return fmt::format(
      "<figure class=\"perf\"><figcaption>{}</figcaption>\n<table><thead><tr><th>implementation</th><th>bar</th>"
      "<th>median time</th><th>with cold caches</th><th>rate</th><th>of the "
      "roofline</th></tr></thead>\n<tbody>{}</tbody></table></figure>\n",
      CaseIdHtml(id), rows);
}

std::string OperatorHtml(const std::string& op, const std::map<std::string, Case>& cases, const Scene& scene,
                         bool open) {
  std::vector<const std::pair<const std::string, Case>*> order;
  for (const auto& item : cases) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->second.work > b->second.work; });
  const size_t shown = std::min(order.size(), kMaxCasesPerOperator);
  std::string out = fmt::format(
      "<details{}><summary><h3>{} <span>{}</span></h3></summary>\n<div "
      "class=\"perf-grid\">\n",
      open ? " open" : "", Escaped(op), Counted(static_cast<int64_t>(order.size()), "timed case"));
  for (size_t i = 0; i < shown; ++i) out += CaseHtml(order[i]->first, order[i]->second, scene);
  out += "</div>\n";
  if (shown < order.size()) {
    out += fmt::format("<p class=\"note\">These are the {} largest; the other {} are in the table of results.</p>\n",
                       shown, order.size() - shown);
  }
  return out + "</details>\n";
}

// Measurements other than warm times; columns without any are left out.
struct Measured {
  bool cold = false, roofline = false;
  void Add(const Record& r) {
    cold = cold || r.time_cold_median_s.has_value();
    roofline = roofline || r.roofline_fraction.has_value();
  }
  std::string Classes() const {
    return std::string(cold ? "" : "no-cold") + (cold || roofline ? "" : " ") + (roofline ? "" : "no-roofline");
  }
};

std::string Note(const Measured& measured, const Axis& axis) {
  std::string out = fmt::format(
      "<p class=\"note\">A dot is the median time of one execution, further left is faster; the whisker spans p10 to "
      "p90. "
      "All cases share one logarithmic scale from {} to {}, with a line per decade. Then ",
      TimeText(axis.start_s), TimeText(axis.end_s));
  if (measured.cold) out += "the median with cold caches, ";
  out += "FLOP/s or B/s, whichever the case is about";
  if (measured.roofline) {
    out +=
        ", the share of what the measured ceilings of the device permit (its roofline, of the cold time), and which of "
        "them binds: the bandwidth of its memory or its compute rate";
  }
  out +=
      ". What is <s>struck out</s> is suspect, wrong or cannot be true: its time does not count. "
      "≤ is the most that an execution takes, by the host's clock, which does not confirm what the backend says.";
  if (!measured.cold || !measured.roofline) {
    out += fmt::format(" <code>assay run {}</code> measures more.",
                       fmt::join(measured.cold       ? std::vector{"--roofline"}
                                 : measured.roofline ? std::vector{"--cold"}
                                                     : std::vector{"--cold", "--roofline"},
                                 " "));
  }
  return out + "</p>\n";
}

}  // namespace

std::string PerformanceSection(const Page& page) {
  std::map<std::string, std::map<std::string, Case>> ops;
  Measured measured;
  Scene scene{page, {}, {}};
  Axis& axis = scene.axis;
  ForEachRecord(page.records, [&](size_t index, const Record& r) {
    if (!Timed(r)) return;
    measured.Add(r);
    if (r.timing_invalid.empty()) axis.Add(r);
    scene.hues.emplace(page.columns.BackendOf(r), scene.hues.size());
    Case& item = ops[r.op][r.case_id];
    item.bars.push_back(index);
    item.work = std::max({item.work, r.flops.value_or(0), r.bytes.value_or(0)});
  });
  if (ops.empty()) return "";
  if (const bool none_counts = axis.end_s == 0; none_counts) {
    for (const Record& r : page.records) {
      if (Timed(r)) axis.Add(r);
    }
  }
  axis.RoundToDecades();
  std::string out = fmt::format("<div class=\"{}\" style=\"--decades:{}\">\n{}", measured.Classes(), axis.Decades(),
                                Note(measured, axis));
  bool open = true;
  for (const auto& [op, cases] : ops) {
    out += OperatorHtml(op, cases, scene, open);
    open = false;
  }
  return out + "</div>\n";
}

}  // namespace assay::html
