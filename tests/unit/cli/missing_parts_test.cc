// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/missing_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/operator.h"
#include "tests/unit/temporary_folder.h"

namespace assay::cli {
namespace {

TEST(MissingParts, NoOperatorLacksAny) {
  for (const Operator* op : OperatorRegistry::Global().All()) {
    const auto missing = FindMissingParts(ASSAY_TEST_ROOT, op->schema().op);
    ASSERT_TRUE(missing) << missing.error().message;
    for (const MissingPart& part : *missing)
      ADD_FAILURE() << op->schema().op << ": " << part.file << " lacks " << part.what;
  }
}

TEST(MissingParts, AFormulaAloneLacksEveryOther) {
  const TemporaryFolder root;
  root.Write("ops/ADDING.md", "");
  root.Write("ops/defs/batch_norm.cc", "ASSAY_OPERATOR(batch_norm, A);\nASSAY_OPERATOR(instance_norm, B);");
  const auto missing = FindMissingParts(root.Path(""), "batch_norm");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->size(), 9);
  EXPECT_EQ(missing->front().file, "tests/unit/ops/tie_twin_test.cc");
  EXPECT_EQ(FindMissingParts(root.Path(""), "instance_norm")->size(), 7);  // without designs, which it may share
}

TEST(MissingParts, AnotherFolderIsNamed) {
  const TemporaryFolder root;
  const auto missing = FindMissingParts(root.Path(""), "matmul");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, testing::HasSubstr("run it in the root of the sources"));
}

}  // namespace
}  // namespace assay::cli
