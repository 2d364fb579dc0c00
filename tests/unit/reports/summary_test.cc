// SPDX-License-Identifier: Apache-2.0
// Counts of verdicts, by operator, device and implementation.
#include "reports/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reports/console.h"
#include "reports/html/html.h"
#include "reports/markdown.h"
#include "reports/table.h"
#include "tests/unit/reports/made_record.h"

namespace assay {
namespace {

using test::MakeRecord;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Summary, MatrixCountsWhatPassedAndNamesWhatDidNot) {
  const std::vector<Record> records{MakeRecord("cpu", "naive", "pass"), MakeRecord("cpu", "naive", "mismatch"),
                                    MakeRecord("onednn", "gemm", "pass")};
  const Table t = VerdictMatrix(records);
  EXPECT_THAT(t.header, ElementsAre("operator", "dtype", "cpu", "onednn"));
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_THAT(t.rows[0], ElementsAre("matmul", "f32", "1 mismatch, 1 pass 0.25", "1 pass 0.25"));
  const Table by_implementation = ImplementationTable(records);
  ASSERT_EQ(by_implementation.rows.size(), 2u);
  EXPECT_THAT(by_implementation.rows[0], ElementsAre("matmul", "f32", "cpu:naive", "1 mismatch, 1 pass 0.25"));
}

TEST(Summary, SeveralDevicesOfABackendAreSeparateColumns) {
  auto a = MakeRecord("gpu", "x", "pass"), b = MakeRecord("gpu", "x", "pass");
  b.device = "other";
  EXPECT_THAT(VerdictMatrix({a, b}).header, ElementsAre("operator", "dtype", "gpu[gpu-device]", "gpu[other]"));
}

Record Refused(const std::string& op, const std::string& reason) {
  Record r = MakeRecord("gpu", "", "unsupported");
  r.op = op, r.reason = reason;
  return r;
}

TEST(Summary, OperatorsWithOneReasonShareARow) {
  const Table t =
      ReasonsTable({Refused("sin", "no operator 'sin' here: sin is missing"), Refused("cos", "no operator 'cos' here"),
                    Refused("exp", "no operator 'exp' here"), Refused("exp", "no operator 'exp' here"),
                    Refused("erf", "erf f16 is not offered"), Refused("log", "log f16 is not offered"),
                    Refused("sort", "sorting is not offered"), Refused("sort", "sorting is not offered")});
  std::vector<std::string> rows;
  for (const auto& row : t.rows) rows.push_back(row[0] + " " + row[3]);
  EXPECT_THAT(
      rows, testing::UnorderedElementsAre("1 no operator 'sin' here: sin is missing", "3 no operator 'cos', 'exp' here",
                                          "2 erf, log f16 is not offered", "2 sorting is not offered"));
}

TEST(Summary, AnUnknownOutcomeIsAFailureThatEveryReportNames) {
  const std::vector<Record> records{MakeRecord("cpu", "naive", "melted"), MakeRecord("cpu", "naive", "pass")};
  EXPECT_TRUE(IsFailure(records[0]));
  EXPECT_EQ(OutcomeLine(records), "1 melted, 1 pass");
  EXPECT_EQ(VerdictMatrix(records).rows[0][2], "1 melted, 1 pass 0.25");
  EXPECT_THAT(ConsoleReport(records, {}), HasSubstr("because of melted"));
  EXPECT_THAT(MarkdownReport(records), HasSubstr("because of melted"));
  EXPECT_THAT(HtmlReport(records, ""), HasSubstr("because of melted"));
}

TEST(Summary, CasesOfAProgramCountByTheirCalls) {
  const auto make = [](const char* backend, const char* id, const char* outcome, const char* tags) {
    Record r = MakeRecord(backend, "naive", outcome);
    r.case_id = id, r.tags = tags;
    return r;
  };
  const Record often = make("cpu", "often", "pass", "decoder,calls-90,calls-5");
  const Record seldom = make("cpu", "seldom", "mismatch", "calls-5");
  const Record untold = make("cpu", "untold", "mismatch", "calls-");
  EXPECT_EQ(OutcomeLine({often, seldom, untold}), "2 mismatch, 1 pass; weighted by calls, cpu 95 % pass");
  EXPECT_EQ(OutcomeLine({untold}), "1 mismatch");
  const Record very_often = make("cpu", "often", "pass", "calls-99999");
  EXPECT_EQ(OutcomeLine({very_often, seldom}), "1 mismatch, 1 pass; weighted by calls, cpu 99.9 % pass");
  // A case counts once on each backend; an implementation that does not take it is no failure beside one that does.
  EXPECT_EQ(OutcomeLine({often, make("cpu", "often", "unsupported", "calls-95"), often,
                         make("x", "often", "unsupported", "calls-95"), make("x", "seldom", "pass", "calls-5")}),
            "3 pass, 2 unsupported; weighted by calls, cpu 100 %, x 5 % pass");
  EXPECT_EQ(OutcomeLine({often, make("cpu", "often", "mismatch", "calls-95")}),
            "1 mismatch, 1 pass; weighted by calls, cpu 0 % pass");
}

TEST(Summary, InconclusiveCasesSayWhyOnceEach) {
  std::vector<Record> records{MakeRecord("cpu", "naive", "inconclusive"), MakeRecord("x", "tiled", "inconclusive"),
                              MakeRecord("cpu", "naive", "pass")};
  const std::string text = ConsoleReport(records, {});
  const size_t at = text.find("\nInconclusive: a wrong result would pass\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(InconclusiveTable(records).rows,
              ElementsAre(ElementsAre("2", records[0].case_id, "because of inconclusive")));
  EXPECT_THAT(text.substr(at), HasSubstr("because of inconclusive"));
  for (int i = 0; i < 30; ++i) records.push_back(records[0]), records.back().case_id += std::to_string(i);
  const Table table = InconclusiveTable(records);
  EXPECT_EQ(table.rows.size(), 21u);
  EXPECT_EQ(table.rows.back()[1], "11 more cases, see results.jsonl");
  EXPECT_THAT(ConsoleReport({records[2]}, {}), Not(HasSubstr("Inconclusive")));
}

}  // namespace
}  // namespace assay
