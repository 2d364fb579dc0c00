// SPDX-License-Identifier: Apache-2.0
// A condition on an attribute of a case, as one word:
//   c<32  c<=32  c>32  c>=32  c!=32  kind=max|min  c%2=1  shape.1>5590000  stride=2
// A list such as shape=4x8 is compared entry by entry, each of which has to hold; shape.1 is its second entry. One
// number stands for a list of that number: k=3 is k=3x3. Attributes that a case leaves out have their default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/case_spec.h"

namespace assay {

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kAtMost, kGreater, kAtLeast };

struct AttrCondition {
  std::string key;
  std::optional<size_t> entry;  // of a list
  int64_t divisor = 0;          // the remainder is compared; 0: the value itself
  Comparison comparison = Comparison::kEqual;
  std::vector<std::string> values;  // alternatives; one where the comparison is an order
  std::string where;                // file:line, of a file's
};

// A word at its comparison sign: {"c%2", kEqual, "1"}. Nothing where there is none.
struct ComparedWord {
  std::string_view left, right;
  Comparison comparison = Comparison::kEqual;
};
std::optional<ComparedWord> SplitAtComparison(std::string_view word);
bool Compare(double left, Comparison comparison, double right);

// Errors say what is wrong with the word; Check adds what the operator knows of its keys and values.
Result<AttrCondition> ParseAttrCondition(std::string_view word);
Status Check(const AttrCondition& condition, const OpSchema& schema);

// Preconditions: `spec` is canonical, and Check holds for its operator.
bool Holds(const AttrCondition& condition, const CaseSpec& spec, const OpSchema& schema);

}  // namespace assay
