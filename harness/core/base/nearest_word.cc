// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/nearest_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace assay {
namespace {

constexpr size_t kLongestWord = 100;  // nobody types more

std::string ToLowerCase(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool AreExchanged(std::string_view a, std::string_view b, size_t i, size_t j) {
  return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

}  // namespace

// Three rows of the table of distances between all beginnings of both.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (AreExchanged(a, b, i, j)) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string NearestWord(std::string_view word, std::span<const std::string> known) {
  if (word.size() > kLongestWord) return "";
  const std::string typed = ToLowerCase(word);
  std::string nearest;
  size_t least = std::max<size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& candidate : known) {
    const std::string name = ToLowerCase(candidate);
    const bool unfinished = typed.size() > 2 && name.starts_with(typed);
    const size_t distance = unfinished ? size_t{1} : EditDistance(typed, name);
    if (distance >= least || distance >= name.size()) continue;  // of a short name every letter would be wrong
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string FirstOf(std::span<const std::string> names, size_t most) {
  const size_t shown = std::min(names.size(), most);
  const std::string text = fmt::format("{}", fmt::join(names.first(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  const std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace assay
