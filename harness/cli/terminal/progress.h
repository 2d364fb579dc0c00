// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: a bar on a terminal (TERM=dumb is none), a line every ten seconds otherwise.
#pragma once

#include <chrono>
#include <string>

namespace assay::cli {

class Progress {
 public:
  enum class Mode { kNone, kBar, kLines };
  // auto: a bar when stderr is a terminal that can show one, else lines.
  static Mode ParseMode(const std::string& text);

  Progress(Mode mode, size_t total);  // 0: nobody knows how many
  ~Progress();
  void Update(size_t done, size_t failed, const std::string& current);
  void Clear() const;  // takes the bar away until the next update, for a line of text in its place

 private:
  using Clock = std::chrono::steady_clock;
  Mode mode_;
  size_t total_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

// ", about 40 s left" when `done` of `total` took so long; "" while nothing can be told.
std::string TimeLeftText(double elapsed_s, size_t done, size_t total);

// Whether text on this stream may be coloured: --color, then NO_COLOR, then whether it is a terminal other than
// TERM=dumb.
bool UseColour(const std::string& color_option, int fd);

// Width of the terminal; 0 if the stream is none, so that lines may have any length.
size_t TextWidth(int fd);

}  // namespace assay::cli
