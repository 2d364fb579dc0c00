// SPDX-License-Identifier: Apache-2.0
// The terms of the reports, each with one plain definition: for tooltips where they are used and for the list at the
// end. The source is reports/README.md alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct GlossaryTerm {
  std::string name;
  std::string definition;  // plain text
};

std::span<const GlossaryTerm> Glossary();
std::span<const GlossaryTerm> ClassGlossary();         // of the classes of results
std::string_view DefinitionOf(std::string_view name);  // "" for none

// The rows below the head of a table of two columns in Markdown, without its marks.
std::vector<GlossaryTerm> ReadGlossary(std::string_view table);

}  // namespace assay
