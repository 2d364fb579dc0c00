// SPDX-License-Identifier: Apache-2.0
#include "tests/designs/design_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/plan/shrink.h"
#include "ops/operator.h"

namespace assay {
namespace {

constexpr std::string_view kRecipe = "# design: ";

// Whether the word is understood.
bool SetOption(std::string_view word, DesignFile& file) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string_view key = word.substr(0, equals), text = word.substr(std::min(equals + 1, word.size()));
  const auto number = ParseNumber<double>(text);
  if (!number || !(*number >= 1)) return false;
  if (key == "max_elements") file.options.limits.elements = *number;
  if (key == "max_flops") file.options.limits.flops = *number;
  if (key == "most") file.options.most = static_cast<size_t>(*number);
  if (key == "thorough") file.thorough = text;
  return key == "max_elements" || key == "max_flops" || key == "most" || key == "thorough";
}

std::string_view NameOf(int strength) {
  return strength == 2 ? "pairs" : "triples";
}

}  // namespace

Result<DesignFile> ReadDesignFile(const std::filesystem::path& path) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text) return tl::unexpected(text.error());
  DesignFile file;
  for (const std::string_view line : Split(*text, '\n')) {
    if (file.recipe.empty() && line.starts_with(kRecipe)) file.recipe = line.substr(kRecipe.size());
  }
  const std::vector<std::string_view> words = Split(file.recipe, ' ');
  bool is_known = words.size() >= 2 && (words[0] == NameOf(2) || words[0] == NameOf(3));
  if (is_known) {
    file.options.strength = words[0] == NameOf(2) ? 2 : 3;
    file.op = OperatorRegistry::Global().Find(words[1]);
    is_known = file.op != nullptr && !file.op->Space().dimensions.empty();
  }
  for (size_t i = 2; i < words.size(); ++i) is_known = is_known && SetOption(words[i], file);
  if (is_known) return file;
  return UsageError(
      fmt::format("{}: write a line '{}triples matmul max_elements=4096 max_flops=1e5', with pairs or "
                  "triples and an operator that declares its dimensions",
                  path.string(), kRecipe));
}

std::string WriteDesign(const DesignFile& file, const Cover& cover) {
  std::string text = fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\n{}{}\n# scripts/designs.sh has written this file from the line above: "
      "change that line or the operator, and run it again.\ntimed no\n",
      kRecipe, file.recipe);
  if (!file.thorough.empty()) text += fmt::format("thorough {}\n", file.thorough);
  for (const CaseSpec& spec : cover.cases) text += SuiteLineOf(spec) + "\n";
  return text;
}

std::vector<std::string> ListNotFound(const DesignFile& file, const CoveredSet& set) {
  const CaseSpace space = file.op->Space();
  std::vector<std::string> texts;
  for (int64_t index = 0; index < set.tuples.size(); ++index) {
    if (set.reason[static_cast<size_t>(index)] == kNotFound) texts.push_back(TupleText(space, set.tuples.At(index)));
  }
  return texts;
}

std::string SummariseDesign(const DesignFile& file, const Cover& cover) {
  std::string text = fmt::format("{}: {} cases\n", file.recipe, cover.cases.size());
  for (const CoveredSet& set : cover.sets) {
    std::map<int, int64_t> count;
    for (const int reason : set.reason) ++count[reason];
    text += fmt::format("  {}: {} of {}\n", NameOf(set.strength), count[kCovered], set.tuples.size());
    if (count[kLeftOut] > 0) text += fmt::format("    left out: {}\n", count[kLeftOut]);
    for (const std::string& missing : ListNotFound(file, set)) text += fmt::format("    not found: {}\n", missing);
    for (size_t i = 0; i < set.reasons.size(); ++i) {
      text += fmt::format("    impossible: {}: {}\n", count[static_cast<int>(i)], set.reasons[i]);
    }
  }
  return text;
}

}  // namespace assay
