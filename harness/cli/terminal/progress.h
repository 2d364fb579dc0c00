// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: a bar on a terminal (TERM=dumb is none), a line every ten seconds otherwise.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace assay::cli {

// How long a run still takes, by what was expected of it and what it has taken so far.
class TimeLeft {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes the seconds behind the run and ahead of it (ExpectedCost). Those behind it at first are an earlier run's, or
  // those of a pass before.
  void Expect(double behind_s, double ahead_s, Clock::time_point now = Clock::now());

  // ", about 40 s left"; "" while nothing can be told.
  std::string Text(Clock::time_point now = Clock::now()) const;

 private:
  struct Point {
    Clock::time_point time;
    double behind_s = 0;
  };

  Clock::time_point begin_ = Clock::now();
  std::vector<Point> points_;  // one a second, the first of them when the run or its pass began
  Point last_;
  double ahead_s_ = 0;
};

class Progress {
 public:
  enum class Mode { kNone, kBar, kLines };
  // auto: a bar when stderr is a terminal that can show one, else lines.
  static Mode ParseMode(const std::string& text);

  Progress(Mode mode, size_t total);  // 0: nobody knows how many
  ~Progress();
  // Without a call of Expect, every step is expected to take as long as any other.
  void Expect(double behind_s, double ahead_s);
  void Update(size_t done, size_t failed, const std::string& current);
  void Clear() const;  // takes the bar away until the next update, for a line of text in its place

 private:
  using Clock = std::chrono::steady_clock;
  Mode mode_;
  size_t total_;
  TimeLeft time_left_;
  bool expected_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

// Whether text on this stream may be coloured: --color, then NO_COLOR, then whether it is a terminal other than
// TERM=dumb.
bool UseColour(const std::string& color_option, int fd);

// Width of the terminal; 0 if the stream is none, so that lines may have any length.
size_t TextWidth(int fd);

}  // namespace assay::cli
