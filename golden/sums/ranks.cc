// SPDX-License-Identifier: Apache-2.0
#include "golden/sums/ranks.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace assay {

double SumOfRanks(std::vector<double> terms) {
  std::erase_if(terms, [](double x) { return !(x > 0 && std::isfinite(x)); });
  std::ranges::sort(terms, std::greater());
  double sum = 0, larger = 0;
  for (size_t i = 1; i < terms.size(); ++i) {
    if (terms[i] < terms[i - 1]) larger += 1;
    sum += larger * terms[i];
  }
  return sum;
}

}  // namespace assay
