// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/error_map.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/judge/judged_case.h"

namespace assay {
namespace {

ElementJudge JudgeOf(const JudgedCase& of) {
  return ElementJudge(of.golden, of.bound, of.contract, of.got.dtype());
}

// All results right.
void SetRight(JudgedCase& of) {
  for (int64_t i = 0; i < of.values(); ++i) of.SetGot(i, JudgeOf(of).Rounded(i));
}

// Moves an element by so many of its tolerances.
void Move(JudgedCase& of, int64_t i, double tolerances) {
  const double golden = of.golden.value[static_cast<size_t>(i)];
  of.SetGot(i, golden + tolerances * JudgeOf(of).Judge(i, golden + 1).Tolerance());
}

TEST(ErrorMap, EachElementHasAMarkByItsError) {
  JudgedCase of({.shape = {3, 4}, .noise = 0.1});
  SetRight(of);
  EXPECT_EQ(ErrorMapField(JudgeOf(of), of.got), "") << "nothing is wrong";
  Move(of, 1, 5), Move(of, 6, 100);
  of.SetGot(11, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ErrorMapField(JudgeOf(of), of.got), "1,1:.+../..#./...!");
  EXPECT_NE(ErrorMapText(JudgeOf(of), of.got).find("  .+..\n  ..#.\n  ...!\n  each is an element"), std::string::npos);
}

TEST(ErrorMap, ACellIsTheWorstOfItsElements) {
  JudgedCase of({.shape = {2, 3, 100}, .noise = 0.1});
  SetRight(of);
  Move(of, 299, 5), Move(of, 298, 100);
  const ErrorMap map = MapErrors(JudgeOf(of), of.got, 2, 10);
  EXPECT_EQ(map.row_step, 3);
  EXPECT_EQ(map.column_step, 10);
  EXPECT_EQ(map.rows, (std::vector<std::string>{".........#", ".........."}));
}

TEST(ErrorMap, WhereAllIsWrongThereIsNoPicture) {
  JudgedCase of({.shape = {2, 2}, .noise = 0.1});
  for (int64_t i = 0; i < 4; ++i) Move(of, i, 50);
  EXPECT_EQ(ErrorMapText(JudgeOf(of), of.got), "");
}

}  // namespace
}  // namespace assay
