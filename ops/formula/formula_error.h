// SPDX-License-Identifier: Apache-2.0
// Mistakes of whoever writes a definition. They show when the program starts, or, where they depend on extents, when a
// case is used; either way the operator is named (Definition) and the program says so and ends (harness/cli/process.h).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace assay::formula {

class FormulaError : public std::logic_error {
  using std::logic_error::logic_error;
};

// Throws what is wrong, and what to do, unless the condition holds.
template <class... T>
void Require(bool holds, fmt::format_string<T...> otherwise, T&&... values) {
  if (!holds) throw FormulaError(fmt::format(otherwise, std::forward<T>(values)...));
}

}  // namespace assay::formula
