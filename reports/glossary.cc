// SPDX-License-Identifier: Apache-2.0
#include "reports/glossary.h"

#include <algorithm>

#include "harness/core/base/text.h"
#include "reports/assets.h"

namespace assay {
namespace {

// Without emphasis and code marks; of a link its text.
std::string PlainText(std::string_view markdown) {
  std::string plain;
  for (size_t at = 0; at < markdown.size(); ++at) {
    const char c = markdown[at];
    if (markdown.substr(at, 2) == "](") {
      at = std::min(markdown.find(')', at), markdown.size());
    } else if (c != '*' && c != '`' && c != '[') {
      plain += c;
    }
  }
  return plain;
}

}  // namespace

std::vector<GlossaryTerm> ReadGlossary(std::string_view table) {
  constexpr std::string_view kBegin = "| ", kBetween = " | ", kEnd = " |";
  std::vector<GlossaryTerm> terms;
  for (std::string_view line : Split(table, '\n')) {
    const size_t between = line.find(kBetween);
    if (!line.starts_with(kBegin) || !line.ends_with(kEnd) || between == line.npos) continue;
    line.remove_suffix(kEnd.size());
    terms.push_back({PlainText(line.substr(kBegin.size(), between - kBegin.size())),
                     PlainText(line.substr(between + kBetween.size()))});
  }
  if (!terms.empty()) terms.erase(terms.begin());  // the head
  return terms;
}

std::span<const GlossaryTerm> Glossary() {
  static const std::vector<GlossaryTerm> terms = ReadGlossary(html::kTermTable);
  return terms;
}

std::span<const GlossaryTerm> ClassGlossary() {
  static const std::vector<GlossaryTerm> classes = ReadGlossary(html::kClassTable);
  return classes;
}

std::string_view DefinitionOf(std::string_view name) {
  const auto terms = Glossary();
  const auto at = std::ranges::find(terms, name, &GlossaryTerm::name);
  return at == terms.end() ? std::string_view() : std::string_view(at->definition);
}

}  // namespace assay
