// SPDX-License-Identifier: Apache-2.0
// The files of ops/designs: each operator has those that it needs, and they are what their lines and the operators say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "harness/core/base/whole_file.h"
#include "harness/plan/catalog.h"
#include "ops/formula_operator/cases.h"
#include "ops/formula_operator/formula_operator.h"
#include "tests/designs/design_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A suite, the strength of its designs, whether it has the operators of ops/defs too, and how many pairs of an operator
// a search may give up on (ops/README.md).
struct Shipped {
  int strength;
  bool formulas;
  size_t not_found;
  double share = 2;  // combinations that a design has at least, of each that it leaves out
};
const std::map<std::string, Shipped> kShipped = {{"first", {2, false, 1, 0.5}},
                                                 {"default", {2, false, 1}},
                                                 {"conformance", {3, false, 1}},
                                                 {"covering", {3, true, 6}}};

fs::path FolderOf(const std::string& suite) {
  return fs::path(ASSAY_OPS_DIR) / "designs" / suite;
}

std::vector<PlannedCase> CasesOf(const fs::path& file) {
  auto cases = LoadSuite(file.string(), Catalog());
  EXPECT_TRUE(cases) << cases.error().message;
  return cases ? *std::move(cases) : std::vector<PlannedCase>();
}

// Attributes that decide which loops a kernel has. Numbers that a formula has are in the cases of the suites.
std::vector<std::string> KeysOfDesigns(const OpSchema& schema) {
  std::vector<std::string> keys = {std::to_string(schema.operands.size())};
  for (const AttrDef& attr : schema.attrs) {
    if (attr.type != AttrType::kFloat) keys.push_back(attr.key);
  }
  return keys;
}

// Operators that vary in the properties of one with a design: rows of a table in those of exp or add.
std::set<std::string> OperatorsThatShareADesign() {
  std::set<std::string> sharing;
  std::set<std::vector<std::string>> designed;
  for (const FormulaOperator* op : AllFormulas()) {
    if (fs::exists(FolderOf("covering") / (op->schema().op + ".suite"))) designed.insert(KeysOfDesigns(op->schema()));
  }
  for (const FormulaOperator* op : AllFormulas()) {
    if (designed.contains(KeysOfDesigns(op->schema()))) sharing.insert(op->schema().op);
  }
  return sharing;
}

TEST(Designs, EveryOperatorHasThoseThatTheSuitesInclude) {
  const std::set<std::string> sharing = OperatorsThatShareADesign();
  for (const auto& [suite, shipped] : kShipped) {
    const std::string text = ReadWholeFile(fs::path(ASSAY_OPS_DIR) / "suites" / (suite + ".suite")).value();
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(FolderOf(suite))) files.insert(entry.path().stem().string());
    for (const Operator* op : OperatorRegistry::Global().All()) {
      if (!shipped.formulas && dynamic_cast<const FormulaOperator*>(op) != nullptr) continue;
      const std::string& name = op->schema().op;
      if (sharing.contains(name) && !files.contains(name)) continue;
      EXPECT_THAT(text, HasSubstr(fmt::format("include ../designs/{}/{}.suite\n", suite, name)));
      EXPECT_EQ(files.erase(name), 1u) << fmt::format(
          "write the line '# design: {} {}' into ops/designs/{}/{}.suite, and run scripts/designs.sh",
          shipped.strength == 2 ? "pairs" : "triples", name, suite, name);
    }
    EXPECT_THAT(files, IsEmpty()) << suite;
  }
}

// A few of the cases of each list of types are executed many times over.
TEST(Designs, NoCaseIsTimedAndFewOfPairsAreThorough) {
  for (const auto& [suite, shipped] : kShipped) {
    std::map<std::string, int> thorough, planned;
    for (const PlannedCase& c : CasesOf(FolderOf(suite) / "matmul.suite")) {
      EXPECT_FALSE(c.timed) << c.spec.Id();
      const std::string types = DTypeListText(c.spec.dtypes);
      ++planned[types];
      thorough[types] += c.thorough ? 1 : 0;
    }
    ASSERT_GT(planned.size(), 4U);
    for (const auto& [types, count] : planned) {
      EXPECT_EQ(thorough[types], shipped.strength == 2 ? std::min(count, 2) : count) << suite << " " << types;
    }
  }
}

// A factor that 16-bit types round to 1 stands with outputs that show it; and squares are more than 1x1.
TEST(Designs, OfMatmulHaveFactorsThatNarrowTypesRoundAndSquaresWithABias) {
  constexpr double kFine = 1.000244140625;
  for (const DType narrow : {DType::kF16, DType::kBF16}) EXPECT_EQ(RoundTo(FormatOf(narrow), kFine), 1);
  EXPECT_EQ(RoundTo(FormatOf(DType::kF32), kFine), kFine);
  std::set<std::string> of_alpha, of_beta, squares;
  for (const PlannedCase& planned : CasesOf(FolderOf("default") / "matmul.suite")) {
    const CaseSpec& spec = planned.spec;
    const AttrReader attrs(spec, *Catalog().find("matmul"));
    const DType y = spec.dtypes.back();
    if (attrs.Float("alpha") == kFine) of_alpha.insert(std::string(Name(y)));
    if (attrs.Float("beta") == kFine) of_beta.insert(std::string(Name(y)));
    if (attrs.Int("m") == attrs.Int("n") && attrs.Int("m") > 1 && attrs.Int("bias") == 1) squares.insert(spec.Id());
  }
  EXPECT_THAT(of_alpha, ElementsAre("f32", "f64"));
  EXPECT_THAT(of_beta, ElementsAre("f32", "f64"));
  EXPECT_FALSE(squares.empty());
}

TEST(DesignFile, ErrorsSayHowItsLineIsWritten) {
  const fs::path path = fs::path(testing::TempDir()) / fmt::format("assay_design_{}.suite", ::getpid());
  for (const char* line :
       {"", "matmul dtypes=f32 m=1 n=1 k=1", "# design: fours matmul", "# design: pairs matmull", "# design: pairs",
        "# design: pairs matmul max=3", "# design: pairs matmul max_flops=no", "# design: pairs matmul thorough=0"}) {
    std::ofstream(path) << line << "\n";
    const auto file = ReadDesignFile(path);
    ASSERT_FALSE(file) << line;
    EXPECT_THAT(file.error().message, HasSubstr(path.string() + ": write a line '# design: triples matmul")) << line;
  }
  fs::remove(path);
}

class ShippedDesigns : public testing::TestWithParam<std::string> {};

// Whoever changes what an operator declares, or the search, has to write the files anew and to look at the difference.
TEST_P(ShippedDesigns, AreWhatTheirLinesGive) {
  const fs::path path = fs::path(ASSAY_OPS_DIR) / "designs" / GetParam();
  const Shipped& shipped = kShipped.at(path.parent_path().filename());
  const auto file = ReadDesignFile(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->op->schema().op, path.stem());
  EXPECT_EQ(file->options.strength, shipped.strength);
  const Cover cover = MakeCover(*file->op, file->options);
  EXPECT_TRUE(WriteDesign(*file, cover) == ReadWholeFile(path).value())
      << fmt::format("run scripts/designs.sh ops/designs/{}, and look at the difference", GetParam());
  std::vector<CaseSpec> specs;
  for (PlannedCase& planned : CasesOf(path)) specs.push_back(std::move(planned.spec));
  EXPECT_TRUE(specs == cover.cases);
  if (file->options.most > 0) {
    EXPECT_EQ(specs.size(), file->options.most);
  }
  for (const CoveredSet& set : cover.sets) {
    const std::vector<std::string> missing = ListNotFound(*file, set);
    EXPECT_LE(missing.size(), set.strength == 2 ? shipped.not_found : 0) << testing::PrintToString(missing);
    const auto covered = std::ranges::count(set.reason, kCovered);
    EXPECT_GT(covered, 500);
    EXPECT_GT(covered, shipped.share * std::ranges::count(set.reason, kLeftOut));
  }
}

std::vector<std::string> AllFiles() {
  std::vector<std::string> files;
  for (const auto& [suite, shipped] : kShipped) {
    for (const auto& entry : fs::directory_iterator(FolderOf(suite))) {
      files.push_back(suite + "/" + entry.path().filename().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedDesigns, testing::ValuesIn(AllFiles()), [](const auto& file) {
  std::string name = file.param.substr(0, file.param.find('.'));
  std::ranges::replace(name, '/', '_');
  return name;
});

}  // namespace
}  // namespace assay
