// SPDX-License-Identifier: Apache-2.0
#include "harness/power/corpus_part.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/base/text.h"

namespace assay {

std::string_view Name(CorpusPart part) {
  constexpr std::string_view kNames[] = {"tuned", "held", "all"};
  return kNames[static_cast<size_t>(part)];
}

Result<CorpusParts> CorpusParts::Read(const std::filesystem::path& plugin) {
  CorpusParts parts;
  const std::filesystem::path path = plugin.parent_path() / "held_back.txt";
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto words = Split(line, ' ');
    if (words.size() != 2) {
      return UsageError(fmt::format("{}:{}: '{}' is no line of an operator and an implementation; write two words",
                                    path.string(), number, line));
    }
    parts.held_.emplace(words[0], words[1]);
  }
  return parts;
}

bool CorpusParts::Has(CorpusPart part, const std::string& op, std::string_view implementation) const {
  if (part == CorpusPart::kAll) return true;
  if (implementation.ends_with(kEffectSuffix)) implementation.remove_suffix(kEffectSuffix.size());
  return held_.contains({op, std::string(implementation)}) == (part == CorpusPart::kHeld);
}

}  // namespace assay
