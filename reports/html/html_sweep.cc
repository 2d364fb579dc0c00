// SPDX-License-Identifier: Apache-2.0
// One chart for each sweep: what the backends reach at each size, below what the roofline permits there, with the size
// at which memory-bound turns compute-bound. Both axes are logarithmic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/html/html_parts.h"
#include "reports/sweep.h"
#include "reports/text.h"

namespace assay::html {
namespace {

constexpr double kWidth = 760, kHeight = 320, kLeft = 64, kRight = 16, kTop = 14, kBottom = 40;

double GigaPerSecond(const Record& r) {
  return r.flops.value_or(0) / SweepSeconds(r) * 1e-9;
}

// Rate that the roofline permits for this case; 0 if unknown.
double RoofOf(const Record& r) {
  if (!r.roofline_fraction || *r.roofline_fraction <= 0) return 0;
  return GigaPerSecond(r) / *r.roofline_fraction;
}

struct LogScale {
  double low = 0, high = 0, from = 0, to = 0;  // values, and where they lie
  double operator()(double value) const {
    const double span = std::log(high / low);
    return span > 0 ? from + (to - from) * std::log(value / low) / span : (from + to) / 2;
  }
};

struct Chart {
  LogScale x, y;

  explicit Chart(const SweepGroup& group) {
    double low_x = HUGE_VAL, high_x = 0, low_y = HUGE_VAL, high_y = 0;
    for (const SweepCurve& curve : group.curves) {
      for (const SweepPointOf& point : curve.points) {
        low_x = std::min(low_x, point.value), high_x = std::max(high_x, point.value);
        for (const double rate : {GigaPerSecond(*point.record), RoofOf(*point.record)}) {
          if (rate <= 0) continue;
          low_y = std::min(low_y, rate), high_y = std::max(high_y, rate);
        }
      }
    }
    x = {low_x, high_x, kLeft, kWidth - kRight};
    // Whole decades, so that the grid has a line at each end.
    y = {std::pow(10, std::floor(std::log10(low_y))), std::pow(10, std::ceil(std::log10(high_y) + 1e-9)),
         kHeight - kBottom, kTop};
  }
};

std::string Segment(const char* style, double x1, double y1, double x2, double y2) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", style, x1, y1, x2,
                     y2);
}

std::string Caption(const char* style, double x, double y, const std::string& text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", style, x, y, Escaped(text));
}

std::string Grid(const SweepGroup& group, const Chart& chart) {
  std::string out;
  for (double rate = chart.y.low; rate <= chart.y.high * 1.01; rate *= 10) {
    out += Segment("tick", kLeft, chart.y(rate), kWidth - kRight, chart.y(rate)) +
           Caption("end", kLeft - 6, chart.y(rate) + 4, fmt::format("{:g}", rate));
  }
  std::map<double, bool> values;
  for (const SweepCurve& curve : group.curves) {
    for (const SweepPointOf& point : curve.points) values[point.value];
  }
  double last = -HUGE_VAL;
  for (const auto& [value, unused] : values) {
    if (chart.x(value) - last < 34) continue;
    last = chart.x(value);
    out += Caption("mid", last, kHeight - kBottom + 16, fmt::format("{:g}", value));
  }
  return out + Caption("mid", (kLeft + kWidth - kRight) / 2, kHeight - 6, group.key) +
         Caption("mid", kLeft - 30, kTop - 3, "GFLOP/s");
}

template <class F>
std::string Polyline(const char* style, const SweepCurve& curve, const Chart& chart, const F& rate_of) {
  std::string points;
  for (const SweepPointOf& point : curve.points) {
    const double rate = rate_of(*point.record);
    if (rate > 0) points += fmt::format("{:.1f},{:.1f} ", chart.x(point.value), chart.y(rate));
  }
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>", style, points);
}

std::string CurveHtml(const SweepCurve& curve, const Chart& chart, size_t hue) {
  std::string out = fmt::format("<g class=\"h{}\">", hue % 8);
  out += Polyline("roof", curve, chart, RoofOf) + Polyline("rate", curve, chart, GigaPerSecond);
  for (const SweepPointOf& point : curve.points) {
    const double rate = GigaPerSecond(*point.record);
    if (rate <= 0) continue;
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}</title></circle>", chart.x(point.value),
                       chart.y(rate),
                       Escaped(fmt::format("{} {}: {}, {:.3g} GFLOP/s", curve.backend, point.record->sweep,
                                           TimeText(SweepSeconds(*point.record)), rate)));
  }
  if (const Number at = CrossoverOf(curve)) {
    out += Segment("turn", chart.x(*at), kTop, chart.x(*at), kHeight - kBottom);
  }
  return out + "</g>";
}

std::string SweepTable(const SweepGroup& group, const std::map<std::string, size_t>& hues) {
  std::string rows;
  for (const SweepCurve& curve : group.curves) {
    for (const SweepPointOf& point : curve.points) {
      const Record& r = *point.record;
      const std::string launch = r.launch_fraction ? fmt::format("{:.0f} %", 100 * *r.launch_fraction) : "";
      rows += fmt::format(
          "<tr><th scope=\"row\"><i class=\"dot h{}\"></i>{}</th><td>{:g}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td>{}</td></tr>\n",
          hues.at(curve.backend) % 8, Escaped(curve.backend + ":" + r.implementation), point.value,
          TimeText(SweepSeconds(r)), RateText(r), Escaped(RooflineText(r)), launch);
    }
  }
  return fmt::format(
      "<details><summary>The numbers</summary><div class=\"scroll\"><table class=\"plain\"><thead><tr>"
      "<th>implementation</th><th>{}</th><th>time</th><th>rate</th><th>of the roofline</th><th>launch</th></tr></thead>"
      "<tbody>\n{}</tbody></table></div></details>\n",
      Escaped(group.key), rows);
}

std::string GroupHtml(const SweepGroup& group) {
  const Chart chart(group);
  std::map<std::string, size_t> hues;
  std::string curves, key, advice;
  for (const SweepCurve& curve : group.curves) {
    const size_t hue = hues.emplace(curve.backend, hues.size()).first->second;
    curves += CurveHtml(curve, chart, hue);
    key += fmt::format("<span><i class=\"dot h{}\"></i>{}</span> ", hue % 8, Escaped(curve.backend));
  }
  for (const std::string& line : SweepAdvice(group)) advice += "<li>" + Escaped(line) + "</li>\n";
  return fmt::format(
      "<figure class=\"sweep\"><figcaption>{} over <code>{}</code> {}</figcaption>\n<svg viewBox=\"0 0 {} {}\" "
      "role=\"img\" aria-label=\"rate over {}\">{}{}</svg>\n</figure>\n<ul class=\"advice\">\n{}</ul>\n{}",
      CaseIdHtml(group.title), Escaped(group.key), key, kWidth, kHeight, Escaped(group.key), Grid(group, chart), curves,
      advice, SweepTable(group, hues));
}

constexpr const char* kSweepNote =
    "<p class=\"note\">The fastest implementation of each backend at each size, with cold caches where they can be "
    "flushed. Dashed: what the measured ceilings permit. The dotted line: where the memory takes as long as the "
    "operations.</p>\n";

}  // namespace

std::string SweepSection(const Page& page) {
  std::string out;
  for (const SweepGroup& group : SweepsOf(page.records)) {
    // Some sizes may have none: a transform of one point.
    const bool counted = std::ranges::any_of(group.curves, [](const SweepCurve& curve) {
      return std::ranges::any_of(curve.points, [](const SweepPointOf& p) { return GigaPerSecond(*p.record) > 0; });
    });
    if (counted) out += GroupHtml(group);
  }
  return out.empty() ? out : kSweepNote + out;
}

}  // namespace assay::html
