// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "harness/cli/terminal/output.h"
#include "harness/engine/expected_cost.h"

namespace assay::cli {
namespace {

constexpr auto kLineInterval = std::chrono::seconds(10);
constexpr auto kBarInterval = std::chrono::milliseconds(100);

constexpr auto kTooEarly = std::chrono::seconds(3);  // before it nothing can be told of the rest

// A terminal that moves the cursor and knows colours; TERM=dumb is what editors and CI systems set that do neither.
bool ObeysEscapes(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

Progress::Mode Progress::ParseMode(const std::string& text) {
  if (text == "none") return Mode::kNone;
  if (text == "bar") return Mode::kBar;
  if (text == "lines") return Mode::kLines;
  return ObeysEscapes(STDERR_FILENO) ? Mode::kBar : Mode::kLines;
}

Progress::Progress(Mode mode, size_t total) : mode_(mode), total_(total) {}

Progress::~Progress() {
  Clear();
}

void Progress::Clear() const {
  if (mode_ == Mode::kBar) std::fputs("\r\x1b[2K", stderr);
}

void Progress::Expect(double behind_s, double ahead_s) {
  time_left_.Expect(behind_s, ahead_s);
  expected_ = true;
}

void Progress::Update(size_t done, size_t failed, const std::string& current) {
  if (!expected_ && total_ >= done) time_left_.Expect(static_cast<double>(done), static_cast<double>(total_ - done));
  const auto now = Clock::now();
  const auto interval = mode_ == Mode::kBar ? Clock::duration(kBarInterval) : Clock::duration(kLineInterval);
  if (mode_ == Mode::kNone || now - last_ < interval) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string of = total_ > 0 ? fmt::format("/{}", total_) : "";
  std::string line = fmt::format("{}{} case{}, {} failed, {:.0f} s{}", done, of,
                                 (total_ > 0 ? total_ : done) == 1 ? "" : "s", failed, elapsed, time_left_.Text());
  if (mode_ == Mode::kLines) {
    Note(fmt::format("{}  {}", line, current));
    return;
  }
  const size_t terminal = TextWidth(STDERR_FILENO), width = terminal > 20 ? terminal : 80;
  const size_t bar = 20, filled = total_ == 0 ? 0 : std::min(bar, bar * done / total_);
  line += "  " + current;
  if (total_ > 0) line = fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(bar - filled, '.'), line);
  line.resize(std::min(line.size(), width - 1));
  std::fputs(("\r\x1b[2K" + line).c_str(), stderr);
}

void TimeLeft::Expect(double behind_s, double ahead_s, Clock::time_point now) {
  if (!points_.empty() && behind_s < last_.behind_s) points_.clear(), begin_ = now;
  if (points_.empty()) points_.push_back({begin_, behind_s});
  last_ = {now, behind_s}, ahead_s_ = ahead_s;
  if (now - points_.back().time >= kLineInterval / 10) points_.push_back(last_);
}

std::string TimeLeft::Text(Clock::time_point now) const {
  if (points_.empty() || now - points_[0].time < kTooEarly || last_.behind_s <= points_[0].behind_s || ahead_s_ <= 0) {
    return "";
  }
  // The beginning of the run, when kernels are compiled, counts no more, unless nearly everything is of that time.
  const auto forgotten = points_[0].time + (now - points_[0].time) / 4;
  const auto is_forgotten = [&](const Point& point) { return point.time <= forgotten; };
  const Point& late = *std::prev(std::ranges::partition_point(points_, is_forgotten));
  const bool is_late_enough = last_.behind_s - late.behind_s > (last_.behind_s - points_[0].behind_s) / 4;
  const Point& from = is_late_enough ? late : points_[0];
  const double elapsed_s = std::chrono::duration<double>(now - from.time).count();
  const double left_s = EstimateSecondsLeft(elapsed_s, last_.behind_s - from.behind_s, ahead_s_);
  if (left_s < 90) return fmt::format(", about {:.0f} s left", left_s);
  return left_s < 5400 ? fmt::format(", about {:.0f} min left", left_s / 60)
                       : fmt::format(", about {:.1f} h left", left_s / 3600);
}

size_t TextWidth(int fd) {
  winsize size{};
  return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool UseColour(const std::string& color_option, int fd) {
  if (color_option == "always") return true;
  if (color_option == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && ObeysEscapes(fd);
}

}  // namespace assay::cli
