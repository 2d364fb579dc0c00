// SPDX-License-Identifier: Apache-2.0
#include "harness/power/corpus_part.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/base/text.h"

namespace assay {

std::string_view Name(CorpusPart part) {
  constexpr std::string_view kNames[] = {"tuned", "held", "fresh", "all"};
  return kNames[static_cast<size_t>(part)];
}

Result<CorpusParts> CorpusParts::Read(const std::filesystem::path& plugin) {
  CorpusParts parts;
  for (const auto& [names, file] : {std::pair{&parts.held_, "held_back.txt"}, {&parts.fresh_, "fresh.txt"}}) {
    Result<Names> found = NamesIn(plugin.parent_path() / file);
    if (!found) return tl::unexpected(found.error());
    *names = std::move(*found);
  }
  return parts;
}

Result<CorpusParts::Names> CorpusParts::NamesIn(const std::filesystem::path& list) {
  Names names;
  std::ifstream file(list);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto words = Split(line, ' ');
    if (words.size() != 2) {
      return UsageError(fmt::format("{}:{}: '{}' is no line of an operator and an implementation; write two words",
                                    list.string(), number, line));
    }
    names.emplace(words[0], words[1]);
  }
  return names;
}

bool CorpusParts::Has(CorpusPart part, const std::string& op, std::string_view implementation) const {
  if (part == CorpusPart::kAll) return true;
  if (implementation.ends_with(kEffectSuffix)) implementation.remove_suffix(kEffectSuffix.size());
  const std::pair name{op, std::string(implementation)};
  const bool is_held = held_.contains(name), is_fresh = fresh_.contains(name);
  if (part == CorpusPart::kTuned) return !is_held && !is_fresh;
  return part == CorpusPart::kHeld ? is_held : is_fresh;
}

}  // namespace assay
