// SPDX-License-Identifier: Apache-2.0
// Wall-clock seconds since it was made.
#pragma once

#include <chrono>

namespace assay {

class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay
