// SPDX-License-Identifier: Apache-2.0
// The true cause of each fault of the corpus, which a file beside the plugin states (tests/faults/corpus/causes.txt),
// and how near the explanation of a caught fault comes to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

// One line of the file; the first that matches an operator and a fault is theirs.
struct TrueCause {
  std::string ops, faults;         // globs
  std::string kind;                // "attribute", "operand", "terms"
  std::vector<std::string> names;  // globs, of which the right first cause matches one; none: no hypothesis exists
  std::vector<std::string> hints;  // globs on the reason of the verdict, which says enough if it matches one
};

class TrueCauses {
 public:
  // causes.txt beside the plugin, and before it those of the other parts (held_causes.txt ...) where they are there.
  static Result<TrueCauses> Read(const std::filesystem::path& plugin);
  // Null where no line is about it. `fault` is the implementation's name.
  const TrueCause* Find(std::string_view op, std::string_view fault) const;

 private:
  std::vector<TrueCause> lines_;
};

enum class Naming : uint8_t { kRight, kHinted, kWrong, kUnexplained };

// `named`: what the explanation names, the first cause first. A right cause behind the first is a hint.
Naming JudgeNaming(const TrueCause& truth, const std::vector<std::string>& named, std::string_view reason);

// Whether shares of this fault stand apart: those of a third of them, by the hash of the name.
bool IsCountedApart(std::string_view fault);

}  // namespace assay
