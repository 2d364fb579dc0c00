// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/corpus_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "harness/core/base/text.h"
#include "harness/plan/catalog.h"

namespace assay {

namespace {

constexpr std::array<const char*, kListedParts> kLists = {"held_back.txt", "fresh.txt", "studied.txt", "unseen.txt"};

bool IsThere(const std::filesystem::path& file) {
  std::error_code unreadable;
  return std::filesystem::exists(file, unreadable) || unreadable;
}

bool NeedsLists(const std::filesystem::path& plugin, CorpusPart part) {
  if (part == CorpusPart::kAll) return false;
  return part != CorpusPart::kTuned || plugin.stem() == "libassay_corpus_held";
}

}  // namespace

std::filesystem::path ShippedCorpus(const std::string& name) {
  const std::filesystem::path prefix = std::filesystem::path(ExecutablePath()).parent_path().parent_path();
  return prefix / "lib/assay/corpus" / fmt::format("libassay_{}.so", name);
}

Result<CorpusParts> CorpusParts::Read(const std::filesystem::path& plugin, CorpusPart part) {
  CorpusParts parts;
  const std::filesystem::path folder = plugin.parent_path();
  const bool has_none = std::ranges::none_of(kLists, [&](const char* list) { return IsThere(folder / list); });
  if (has_none && !NeedsLists(plugin, part)) return parts;
  for (size_t i = 0; i < kListedParts; ++i) {
    Result<Names> found = NamesIn(folder / kLists[i]);
    if (!found) return tl::unexpected(found.error());
    parts.listed_[i] = std::move(*found);
  }
  return parts;
}

Result<CorpusParts::Names> CorpusParts::NamesIn(const std::filesystem::path& list) {
  Names names;
  std::ifstream file(list);
  if (!file) {
    return UsageError(
        fmt::format("cannot read {}, the list of a part of the corpus: copy it from lib/assay/corpus of a build "
                    "(./scripts/build.sh release assay_backend_corpus_held puts it there)",
                    list.string()));
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto words = Split(line, ' ');
    if (words.size() != 2) {
      return UsageError(fmt::format("{}:{}: '{}' is not an operator and an implementation; write two words",
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
  if (part != CorpusPart::kTuned) return listed_[static_cast<size_t>(part)].contains(name);
  return std::ranges::none_of(listed_, [&](const Names& names) { return names.contains(name); });
}

}  // namespace assay
