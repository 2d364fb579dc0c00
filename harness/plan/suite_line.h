// SPDX-License-Identifier: Apache-2.0
// One line of a suite file: its words with their columns, and the expansion of a case family. Private to suite.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

struct Word {
  std::string_view text;
  size_t column;  // from 1
};

struct SuiteLine {
  std::string_view file;
  size_t number;            // from 1
  std::vector<Word> words;  // comment removed

  std::string Where() const;  // "file:line"
  tl::unexpected<Error> Fail(size_t column, std::string_view message) const;
};

// The words of a line up to its comment.
std::vector<Word> SplitWords(std::string_view line);

// The cases of a family, canonical, in order, for each of several operators as in "exp|log n=8". Precondition: the line
// has a word.
Result<std::vector<PlannedCase>> ExpandFamily(const SuiteLine& line, const OpCatalog& ops);

}  // namespace assay
