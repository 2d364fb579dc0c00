// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/stage_progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "harness/cli/terminal/output.h"

namespace assay::cli {
namespace {

using std::chrono::milliseconds;
constexpr const char* kClearLine = "\r\x1b[2K";

void ShowOnTerminal(const std::string& text) {
  std::fputs((kClearLine + text).c_str(), stderr);
}

}  // namespace

StageProgress::StageProgress(Progress::Mode mode)
    : StageProgress(mode == Progress::Mode::kBar     ? ShowOnTerminal
                    : mode == Progress::Mode::kLines ? [](const std::string& text) { Note(text); }
                                                     : std::function<void(const std::string&)>(),
                    mode == Progress::Mode::kBar ? milliseconds(1000) : milliseconds(10'000),
                    mode == Progress::Mode::kBar) {
  clears_ = mode == Progress::Mode::kBar;
}

StageProgress::StageProgress(std::function<void(const std::string&)> show, milliseconds interval, bool at_once)
    : show_(std::move(show)), interval_(interval), at_once_(at_once) {
  if (show_) thread_ = std::thread([this] { Tick(); });
}

void StageProgress::Begin(std::string stage) {
  const std::lock_guard lock(mutex_);
  stage_ = std::move(stage);
  if (show_ && at_once_ && !has_ended_) Show();
}

void StageProgress::End() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  if (clears_) std::fputs(kClearLine, stderr);
}

void StageProgress::Show() const {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  show_(fmt::format("{}, {:.0f} s", stage_, seconds));
}

void StageProgress::Tick() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval_, [this] { return has_ended_; })) {
    if (!stage_.empty()) Show();
  }
}

}  // namespace assay::cli
