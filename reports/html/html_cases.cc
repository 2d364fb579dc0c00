// SPDX-License-Identifier: Apache-2.0
// The frame of the table of all results; the script fills it.
#include <fmt/format.h>

#include "harness/core/base/amounts.h"
#include "reports/html/html_parts.h"
#include "reports/text.h"

namespace assay::html {
namespace {

std::string VerdictBoxes(const RecordView& records) {
  std::string out = "<fieldset><legend class=\"hidden\">Verdicts shown</legend>";
  for (const auto& [outcome, count] : CountOutcomes(records)) {
    out += fmt::format("<label><input type=\"checkbox\" name=\"outcome\" value=\"{}\" checked> {}</label>\n",
                       Escaped(outcome), Chip(outcome, fmt::format("{} {}", outcome, count)));
  }
  return out +
         "<button type=\"button\" id=\"failing-only\">failing only</button><button type=\"button\" "
         "id=\"all-verdicts\">all</button></fieldset>\n";
}

std::string LeftOutNote(const Page& page) {
  const auto all = static_cast<int64_t>(page.records.size()), shown = static_cast<int64_t>(page.rows.size());
  if (shown == all) return "";
  return fmt::format(
      "<p class=\"note\">The table has {} of {}: those that failed or are otherwise remarkable, and evenly chosen ones "
      "of the others. results.jsonl beside this page has all; what the rest of the page says is about all of "
      "them.</p>\n",
      shown, Counted(all, "result"));
}

}  // namespace

std::string CasesSection(const Page& page) {
  if (page.records.empty()) return "";
  return "<noscript><p class=\"note\">This table needs scripts. results.jsonl beside this page holds the same records, "
         "one per line.</p></noscript>\n" +
         LeftOutNote(page) +
         "<form id=\"filter\" class=\"filter\" role=\"search\" hidden>\n<label "
         "class=\"search\"><span class=\"hidden\">Filter results</span><input type=\"search\" id=\"filter-text\" "
         "autocomplete=\"off\" spellcheck=\"false\" placeholder=\"Filter: words of id, implementation, class or "
         "reason; "
         "-word leaves out\"></label>\n" +
         VerdictBoxes(page.records) +
         "<p id=\"pinned\" hidden></p>\n</form>\n<p id=\"status\" class=\"note\" role=\"status\"></p>\n<div "
         "class=\"scroll\"><table id=\"results\" class=\"results\" hidden></table></div>\n<div id=\"pager\" "
         "class=\"pager\"></div>\n";
}

}  // namespace assay::html
