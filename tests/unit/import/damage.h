// SPDX-License-Identifier: Apache-2.0
// Damages a file's text at random: cuts, repeats and overwrites pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>

namespace assay {

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  std::string Of(std::string text) {
    for (uint64_t changes = 1 + Below(4); changes-- > 0;) Change(text);
    return text;
  }

 private:
  uint64_t Below(uint64_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(std::string& text) {
    constexpr const char* kPieces[] = {"99999999999999999999",
                                       "2147483648",
                                       "-1",
                                       "0",
                                       "x",
                                       ":",
                                       ",",
                                       "[",
                                       "]",
                                       "(",
                                       ")",
                                       "=",
                                       "\\\n",
                                       "#",
                                       "--dt=",
                                       "nan",
                                       "1e999",
                                       "\xFF"};
    const size_t at = Below(text.size() + 1), size = Below(std::min<size_t>(text.size() - at, 40) + 1);
    switch (Below(5)) {
      case 0:
        text.erase(at, size);
        return;
      case 1:
        text.insert(at, text.substr(at, size));
        return;
      case 2:
        text.insert(at, kPieces[Below(std::size(kPieces))]);
        return;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(Below(2) == 0 ? random_() : '0' + Below(10));
        return;
      default:
        text.replace(at, size, std::to_string(random_() >> Below(64)));
    }
  }

  std::mt19937_64 random_;
};

}  // namespace assay
