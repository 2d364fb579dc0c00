// SPDX-License-Identifier: Apache-2.0
// Known failures and who is at fault, in every report.
#include "reports/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reports/console.h"
#include "reports/html/html.h"
#include "reports/known.h"
#include "reports/markdown.h"
#include "tests/unit/reports/made_record.h"

namespace assay {
namespace {

using test::MakeKnown;
using test::MakeRecord;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Known, AReasonStandsOnceWithItsLineInEveryReport) {
  const std::vector<Record> records{MakeKnown("a", "loses NaN, always, x.expect:4"),
                                    MakeKnown("b", "loses NaN, always, x.expect:4"),
                                    MakeKnown("c", "overflows, x.expect:5"), MakeRecord("cpu", "naive", "pass")};
  const std::vector<KnownCause> causes = KnownCausesOf(records);
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].reason, "loses NaN, always");
  EXPECT_EQ(causes[0].where, "x.expect:4");
  EXPECT_THAT(causes[0].members, ElementsAre(0, 1));
  for (const std::string& report : {ConsoleReport(records, {}), MarkdownReport(records), HtmlReport(records, "")}) {
    EXPECT_THAT(report, HasSubstr("Known failures"));
    EXPECT_THAT(report, HasSubstr("x.expect:5"));
  }
}

TEST(Fault, TheLineNamesAssayOrTheLibraryOrTheDriver) {
  const Record pass = MakeRecord("cpu", "naive", "pass");
  EXPECT_EQ(FaultLine({pass}), "Nothing is at fault.");
  EXPECT_EQ(FaultLine({pass, MakeRecord("cpu", "b", "missing", 0)}),
            "Nothing is at fault in what ran; 1 result is missing.");
  EXPECT_EQ(
      FaultLine({MakeKnown("a", "x, y:1"), pass}),
      "No failure is new. Failures known before: oneDNN 2.6.3, a library on this machine (1 result). assay itself met "
      "no error.");
  Record kernel = MakeRecord("opencl", "tiled", "mismatch"), fft = MakeRecord("opencl", "vkfft", "crash");
  kernel.driver = fft.driver = "3.1+debian", kernel.library_version = fft.library_version = "VkFFT 1.2.26";
  EXPECT_EQ(
      FaultLine({kernel, kernel, fft}),
      "At fault: the kernels of backend opencl or their driver 3.1+debian (2 results); VkFFT 1.2.26, a library on this "
      "machine (1 result). assay itself met no error. What a verdict rests on: harness/judge/README.md.");
  Record driver = MakeKnown("a", "x, y:1");
  driver.fault = "driver", driver.driver = "PoCL 3.1", driver.read_on = "https://example.org/proof";
  EXPECT_THAT(FaultLine({driver, pass}), HasSubstr("PoCL 3.1, the driver of backend onednn (1 result)"));
  EXPECT_THAT(ConsoleReport({driver}, {}), HasSubstr("x [y:1]; read on: https://example.org/proof"));
  driver.fault = "assay";
  EXPECT_EQ(FaultLine({driver}), "No failure is new. Failures known before: assay itself (1 result).");
  EXPECT_EQ(FaultLine({MakeRecord("assay", "", "error"), pass}),
            "At fault: assay itself (1 result). What a verdict rests on: harness/judge/README.md.");
  EXPECT_EQ(FaultLine({MakeRecord("cpu", "", "unsupported")}), "");
  const EnvironmentRows strict{{"strict", "true"}};
  const Record open = MakeRecord("cpu", "naive", "inconclusive");
  EXPECT_EQ(FaultLine({pass, open}), "Nothing is at fault.");
  EXPECT_EQ(FaultLine({pass, open}, strict),
            "The run is strict and fails by 1 inconclusive result; else nothing would.");
  EXPECT_EQ(FaultLine({pass}, strict), "Nothing is at fault.");
  EXPECT_THAT(FaultLine({open, kernel}, strict), HasSubstr("At fault: the kernels of backend opencl"));
  const std::vector<Record> records{kernel};
  for (const std::string& report : {ConsoleReport(records, {}), MarkdownReport(records), HtmlReport(records, "")}) {
    EXPECT_THAT(report, HasSubstr("At fault: the kernels of backend opencl"));
  }
}

}  // namespace
}  // namespace assay
