// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/glob.h"

namespace assay {

bool MatchesGlob(std::string_view glob, std::string_view text) {
  // On a mismatch only the last '*' needs to take one character more; so the time is at most |glob| * |text|.
  size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

}  // namespace assay
