// SPDX-License-Identifier: Apache-2.0
// A program into which a definition with a mistake is built: it says so and ends, but for --version and --help.
#include <gtest/gtest.h>

#include "harness/cli/verbs.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay::cli {
namespace {

int RunWithMistake(std::vector<const char*> words) {
  const RegisterFormula registered("mistaken", [](formula::Definition& d) {
    d.SetDoc("y = x");
    const formula::Axis n = d.Axis("n", "elements");
    d.OutLike("y", d.In("x", n), n, "z");
  });
  words.insert(words.begin(), "assay");
  std::vector<char*> argv;
  for (const char* word : words) argv.push_back(const_cast<char*>(word));
  return Main(static_cast<int>(argv.size()), argv.data());
}

TEST(MistakenDefinition, EndsEachVerbWithItsMessage) {
  const char* const message = "assay: operator mistaken: an output is to be like z, which is no input; name one";
  EXPECT_EXIT(std::exit(RunWithMistake({"list", "ops"})), testing::ExitedWithCode(kExitHarness), message);
  EXPECT_EXIT(std::exit(RunWithMistake({"run", "--op", "exp"})), testing::ExitedWithCode(kExitHarness), message);
  EXPECT_EXIT(std::exit(RunWithMistake({"--version"})), testing::ExitedWithCode(kExitOk), "^$");
}

}  // namespace
}  // namespace assay::cli
