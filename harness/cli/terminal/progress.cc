// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "harness/cli/terminal/output.h"

namespace assay::cli {
namespace {

constexpr auto kLineInterval = std::chrono::seconds(10);
constexpr auto kBarInterval = std::chrono::milliseconds(100);

size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

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

void Progress::Update(size_t done, size_t failed, const std::string& current) {
  const auto now = Clock::now();
  const auto interval = mode_ == Mode::kBar ? Clock::duration(kBarInterval) : Clock::duration(kLineInterval);
  if (mode_ == Mode::kNone || now - last_ < interval) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string line = fmt::format("{}/{} cases, {} failed, {:.0f} s", done, total_, failed, elapsed);
  if (mode_ == Mode::kLines) {
    Note(fmt::format("{}  {}", line, current));
    return;
  }
  const size_t width = TerminalWidth();
  const size_t bar = 20;
  const size_t filled = total_ == 0 ? bar : bar * done / total_;
  line = fmt::format("[{}{}] {}  {}", std::string(filled, '#'), std::string(bar - filled, '.'), line, current);
  line.resize(std::min(line.size(), width - 1));
  std::fputs(("\r\x1b[2K" + line).c_str(), stderr);
}

bool UseColour(const std::string& color_option, int fd) {
  if (color_option == "always") return true;
  if (color_option == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && ObeysEscapes(fd);
}

}  // namespace assay::cli
