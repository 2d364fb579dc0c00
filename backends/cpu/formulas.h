// SPDX-License-Identifier: Apache-2.0
// Rows of the tables of functions of single elements.
#pragma once

#include <type_traits>
#include <utility>

namespace cpu {

// Functions of up to three numbers by two formulas each.
template <class T>
struct Formulas {
  const char* op;
  T (*direct)(T, T, T);
  const char* other_name;
  T (*other)(T, T, T);
  int math = 1;                                      // the worst of its functions, in ulp
  std::pair<const char*, const char*> attributes{};  // numbers in the place of the second and the third
};

// The next wider type.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

}  // namespace cpu
