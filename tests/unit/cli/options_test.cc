// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace assay::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Definitions are read where their file is named.
std::string WriteDefinitions() {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "options_test_definitions.json";
  std::ofstream(file) << R"({"assay_definitions": 1, "operators": [{"op": "square_of_options_test", "doc": "y = x x",
      "axes": [{"name": "n"}], "inputs": [{"name": "x", "axes": ["n"]}],
      "nodes": [{"name": "z", "f": "multiply", "of": ["x", "x"]}],
      "outputs": [{"name": "y", "is": "z", "axes": ["n"]}]}]})";
  return file.string();
}

// Returns a value that is not the usual one.
std::string ValueFor(const OptionRow& row) {
  static const std::map<std::string, std::string> values = {{"--for", "90s"},
                                                            {"--expectations", "none"},
                                                            {"--operators", WriteDefinitions()},
                                                            {"--worker-limit", "processes=100"},
                                                            {"--launch-us", "cuda=200"},
                                                            {"--grant", "/tmp"}};
  if (const auto found = values.find(row.Name()); found != values.end()) return found->second;
  return row.traits.choices.empty() ? "7" : row.traits.choices.back();
}

bool IsFlag(const OptionRow& row) {
  return std::holds_alternative<FieldOf<bool>>(row.field) ||
         std::holds_alternative<FieldOf<std::optional<bool>>>(row.field);
}

struct Parsed {
  explicit Parsed(std::vector<std::string> words) {
    AddAllOptions(app, options);
    std::ranges::reverse(words);
    app.parse(words);
  }
  CLI::App app;
  RunOptions options;
};

TEST(OptionTable, EachOptionIsReadAndWrittenInTheSameWords) {
  for (const OptionRow& row : OptionTable()) {
    const size_t negative = row.names.find('!');
    std::vector<std::string> words = {negative == std::string::npos ? row.Name() : row.names.substr(negative + 1)};
    if (!IsFlag(row)) words.push_back(ValueFor(row));
    RunOptions given = Parsed(words).options;
    if (row.Name() == "--perf-time") given.rounds = 3;  // without further rounds it counts for nothing
    EXPECT_EQ(WriteWords(given, {row.Name()}), words);
    EXPECT_THAT(WriteWords(RunOptions(), {row.Name()}), IsEmpty());
  }
}

TEST(OptionTable, NamesAreThereOnce) {
  std::set<std::string> names;
  for (const OptionRow& row : OptionTable()) EXPECT_TRUE(names.insert(row.Name()).second) << row.Name();
}

TEST(OptionTable, EffectsSayWhatIsComparedAndCarried) {
  const RunOptions o =
      Parsed({"--impl", "a,b", "--no-perf", "--rounds", "4", "--retries", "2", "--jobs", "3", "--strict"}).options;
  EXPECT_THAT(WriteWords(o, Effect::kCarried), ElementsAre("--retries", "2"));  // without times, rounds count nothing
  EXPECT_THAT(WriteWords(o, Effect::kCompared),
              ElementsAre("--impl", "a,b", "--retries", "2", "--strict", "--no-perf"));
  Json environment = Json::object();
  RecordOptions(o, environment);
  EXPECT_EQ(environment, Json({{"retries", 2}, {"strict", true}}));
}

TEST(OptionTable, FilesOfACarriedOptionHoldInAnyFolder) {
  const RunOptions o = Parsed({"--expectations", "none", "--expectations", "mine.toml"}).options;
  EXPECT_THAT(WriteWords(o, Effect::kCarried),
              ElementsAre("--expectations", "none", "--expectations", std::filesystem::absolute("mine.toml").string()));
}

TEST(OptionTable, OptionsThatAskForTimesAreNamed) {
  const Parsed parsed({"--rounds", "4", "--no-cold", "--roofline", "--no-perf", "--jobs", "2"});
  EXPECT_THAT(ListTimesAsked(parsed.app, parsed.options), ElementsAre("--rounds", "--roofline"));
}

}  // namespace
}  // namespace assay::cli
