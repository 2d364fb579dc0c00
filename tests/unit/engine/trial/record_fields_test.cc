// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/record_fields.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::HasSubstr;

TEST(RecordFields, EveryPartOfTheStatisticHasAFieldWhereItsQuestionArises) {
  OutputFindings found;
  found.observed.runs.resize(1);
  StatisticFinding& statistic = found.observed.runs[0].statistic;
  statistic.applicable = true;
  Record none;
  SetMetrics(none, found);
  EXPECT_TRUE(none.stat_element_margin);
  EXPECT_FALSE(none.stat_row_margin);
  EXPECT_FALSE(none.stat_last_bits_margin);
  statistic.shared_row = {.margin = 0, .row = 3};
  statistic.granularity = {.margin = 1.25, .zeros = 5, .results = 20, .so_many = 20};
  Record both;
  SetMetrics(both, found);
  EXPECT_EQ(both.stat_row_margin, 0);
  EXPECT_EQ(both.stat_last_bits_margin, 1.25);
  EXPECT_THAT(ToJsonLine(both), HasSubstr("\"stat_row_margin\":0"));
  EXPECT_THAT(ToJsonLine(both), HasSubstr("\"stat_last_bits_margin\":1.25"));
}

}  // namespace
}  // namespace assay
