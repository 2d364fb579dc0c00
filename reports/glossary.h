// SPDX-License-Identifier: Apache-2.0
// The terms of the reports, each with one plain definition: for tooltips where they are used and for the list at the
// end.
#pragma once

#include <span>
#include <string_view>

namespace assay {

struct GlossaryTerm {
  std::string_view name;
  std::string_view definition;
};

std::span<const GlossaryTerm> Glossary();
std::string_view DefinitionOf(std::string_view name);  // "" for none

}  // namespace assay
