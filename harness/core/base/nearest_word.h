// SPDX-License-Identifier: Apache-2.0
// "did you mean" hints for mistyped names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace assay {

// How many letters have to be dropped, added, replaced or exchanged with their neighbour.
size_t EditDistance(std::string_view a, std::string_view b);

// The known word that is nearest, whatever its case, where a third of the letters at most are wrong or the word was not
// written to its end; "": none.
std::string NearestWord(std::string_view word, std::span<const std::string> known);

// "a, b and 7 more": the first ones, up to `most`.
std::string FirstOf(std::span<const std::string> names, size_t most);

// "; did you mean 'X'?", or "".
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace assay
