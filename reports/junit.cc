// SPDX-License-Identifier: Apache-2.0
#include "reports/junit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <tuple>

#include "reports/deciding.h"
#include "reports/elements.h"
#include "reports/environment.h"
#include "reports/incomplete.h"
#include "reports/pooled.h"
#include "reports/run_notes.h"
#include "reports/summary.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay {
namespace {

Standing StandingIn(bool strict, const Record& r) {
  return strict && FailsStrictly(r) ? Standing::kFailure : StyleOf(r.outcome).standing;
}

// Time spent on the case: everything that was done for it, with the timed repetitions if their time is believed.
double Seconds(const Record& r) {
  const bool counts = r.timing_invalid.empty();
  double sum = counts ? r.time_median_s.value_or(0) * static_cast<double>(r.samples.value_or(0)) : 0;
  for (const Number& part :
       {r.prepare_s, r.prepare_cached_s, r.input_s, r.golden_s, r.execute_s, r.compare_s, r.relations_s}) {
    sum += part.value_or(0);
  }
  return sum >= 0 && sum < 1e9 ? sum : 0;
}

std::string Body(const Record& r) {
  std::string text = r.reason;
  if (!r.required_contract.empty()) text += "\nrequired contract: " + r.required_contract;
  if (!r.contract.empty()) text += "\ndeclared contract: " + r.contract;
  if (const std::string check = DecidingText(DecidingCheckOf(r)); !check.empty()) text += "\ndecided by: " + check;
  if (r.bound_margin) text += fmt::format("\nlargest margin of the bound: {:.4g}", *r.bound_margin);
  if (const WrongElements wrong = WrongElementsOf(r); !wrong.rows.empty()) {
    text += fmt::format("\n{}: ", fmt::join(wrong.header, " | "));
    for (const auto& row : wrong.rows) text += fmt::format("\n  {}", fmt::join(row, " | "));
  }
  if (!r.reproduce.empty()) text += "\nreproduce: " + r.reproduce;
  return text;
}

std::string Detail(bool strict, const Record& r) {
  const std::string message = r.reason.empty() ? r.outcome : r.reason;
  switch (StandingIn(strict, r)) {
    case Standing::kPass:
      return "";
    case Standing::kSkipped: {
      const bool plain = r.outcome == "unsupported" || r.outcome == "unavailable";
      return fmt::format("<skipped message=\"{}\"/>", Escaped(plain ? message : r.outcome + ": " + message));
    }
    case Standing::kFailure:
    case Standing::kError:
      break;
  }
  const char* element = StandingIn(strict, r) == Standing::kFailure ? "failure" : "error";
  return fmt::format("<{0} type=\"{1}\" message=\"{2}\">{3}</{0}>", element, Escaped(r.outcome), Escaped(message),
                     Escaped(Body(r)));
}

// Results that pass have no message, and these are of some elements alone.
std::string SampleNote(bool strict, const Record& r) {
  if (!r.sample_judged || StandingIn(strict, r) != Standing::kPass) return "";
  return fmt::format("<system-out>{}</system-out>", Escaped(r.reason));
}

std::string Case(bool strict, const Record& r) {
  std::string classname = r.backend;
  if (!r.implementation.empty()) classname += "." + r.implementation;
  std::string detail = Detail(strict, r) + SampleNote(strict, r);
  if (!r.timing_invalid.empty()) {
    detail += fmt::format("<system-out>the time cannot be true: {}</system-out>", Escaped(r.timing_invalid));
  }
  const std::string head = fmt::format("    <testcase name=\"{}\" classname=\"{}\" time=\"{:.6f}\"", Escaped(r.case_id),
                                       Escaped(classname), Seconds(r));
  return detail.empty() ? head + "/>\n" : head + ">" + detail + "</testcase>\n";
}

struct Totals {
  std::array<int64_t, 4> by_standing{};
  int64_t tests = 0;
  double seconds = 0;

  void Add(bool strict, const Record& r) {
    ++tests;
    ++by_standing[static_cast<size_t>(StandingIn(strict, r))];
    seconds += Seconds(r);
  }
  std::string Attributes() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}" time="{:.6f}")", tests, by_standing[1],
                       by_standing[2], by_standing[3], seconds);
  }
};

// The results of one operator on one device.
struct Suite {
  std::vector<size_t> members;  // places among the records
  Totals totals;
};

std::string Property(const std::string& name, const std::string& value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", Escaped(name), Escaped(value));
}

std::string Properties(const Record& first, const EnvironmentRows& environment, const std::string& incomplete,
                       const std::vector<std::string>& notes) {
  std::string out = "    <properties>\n";
  for (const std::string& note : notes) out += Property("note", note);
  if (!incomplete.empty()) out += Property("incomplete", incomplete);
  for (const auto& [name, value] : environment) out += Property(name, value);
  if (!first.driver.empty()) out += Property("driver", first.driver);
  if (!first.library_version.empty()) out += Property("library_version", first.library_version);
  return out + "    </properties>\n";
}

// Pooled findings, which fail the run without being results: a suite with a case for each, since CI counts cases.
struct PooledSuite {
  int64_t tests = 0, failures = 0;
  std::string text;

  PooledSuite(const RecordView& records, bool strict) {
    std::string cases;
    for (const PooledAnswer& found : FindPooled(records)) {
      const bool fails = found.proves || strict;
      ++tests;
      failures += fails ? 1 : 0;
      cases += fmt::format("    <testcase name=\"{} {} {}\" classname=\"{}.{}\" time=\"0.000000\">", Escaped(found.op),
                           Escaped(found.dtype), Escaped(found.question), Escaped(found.backend),
                           Escaped(found.implementation));
      cases += fails ? fmt::format("<failure type=\"pooled\" message=\"{}\"/>", Escaped(found.Text()))
                     : fmt::format("<system-out>{}</system-out>", Escaped(found.Text()));
      cases += "</testcase>\n";
    }
    if (tests == 0) return;
    text = fmt::format(
        "  <testsuite name=\"pooled evidence\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" "
        "time=\"0.000000\">\n{}  </testsuite>\n",
        tests, failures, cases);
  }
};

// Report of a run that could not begin. It has a failing case, because CI takes a report without cases as passed.
std::string ReportOfAbsent(const std::string& absent, const EnvironmentRows& environment) {
  constexpr const char* kOneError = R"(tests="1" failures="0" errors="1" skipped="0" time="0.000000")";
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\" {0}>\n"
      "  <testsuite name=\"required backends\" {0}>\n{1}"
      "    <testcase name=\"required backends\" classname=\"assay\" time=\"0.000000\"><error type=\"absent\" "
      "message=\"{2}\"/></testcase>\n  </testsuite>\n</testsuites>\n",
      kOneError, Properties(Record(), environment, "", {}), Escaped("required and absent: " + absent));
}

}  // namespace

void WriteJunit(const RecordView& records, const std::string& environment_json, const TextSink& write) {
  const EnvironmentRows environment = FlattenEnvironment(environment_json);
  if (const std::string absent = EnvironmentValue(environment, "required_absent"); !absent.empty()) {
    return write(ReportOfAbsent(absent, environment));
  }
  const bool strict = IsStrict(environment);
  const std::string incomplete = IncompleteLine(records);
  const std::vector<std::string> notes = RunNotes(records, environment_json);
  std::map<std::tuple<std::string, std::string, std::string>, Suite> suites;
  Totals all;
  ForEachRecord(records, [&](size_t index, const Record& r) {
    Suite& suite = suites[{r.backend, PlannedDevice(r), r.op}];
    suite.members.push_back(index);
    suite.totals.Add(strict, r);
    all.Add(strict, r);
  });
  const PooledSuite pooled(records, strict);
  all.tests += pooled.tests;
  all.by_standing[static_cast<size_t>(Standing::kFailure)] += pooled.failures;
  write(fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\" {}>\n", all.Attributes()));
  for (const auto& [key, suite] : suites) {
    const auto& [backend, device, op] = key;
    const Record first = records[suite.members.front()];
    write(fmt::format("  <testsuite name=\"{}\" {}",
                      Escaped(backend + "/" + (device.empty() ? "-" : device) + "/" + op), suite.totals.Attributes()));
    if (!first.timestamp.empty()) write(fmt::format(" timestamp=\"{}\"", Escaped(first.timestamp)));
    write(">\n" + Properties(first, environment, incomplete, notes));
    Record scratch;
    for (const size_t index : suite.members) write(Case(strict, records.Read(index, scratch)));
    write("  </testsuite>\n");
  }
  write(pooled.text + "</testsuites>\n");
}

std::string JunitReport(const RecordView& records, const std::string& environment_json) {
  std::string out;
  WriteJunit(records, environment_json, [&out](std::string_view part) { out += part; });
  return out;
}

}  // namespace assay
