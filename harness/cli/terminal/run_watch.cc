// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/run_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include "harness/cli/terminal/output.h"
#include "reports/colour.h"
#include "reports/table.h"
#include "reports/text.h"

namespace assay::cli {
namespace {

constexpr size_t kShownOfAKind = 3;
constexpr size_t kReasonLength = 400;  // the whole of it stands at the end and in the reports

std::string ReasonText(const std::string& reason) {
  const std::string text = Printable(reason.substr(0, kReasonLength)) + (reason.size() > kReasonLength ? "..." : "");
  return Wrapped(text, TextWidth(STDERR_FILENO), 4);
}

}  // namespace

void RunWatch::Expected(double behind_s, double ahead_s) {
  const std::lock_guard lock(mutex_);
  behind_s_ = behind_s, ahead_s_ = ahead_s;
}

void RunWatch::Progressed(size_t done, size_t total, size_t failed, const std::string& current) {
  const std::lock_guard lock(mutex_);
  if (!progress_) progress_.emplace(mode_, total);
  progress_->Expect(behind_s_, ahead_s_);
  progress_->Update(done, failed, current);
}

void RunWatch::Failed(const Record& r) {
  const std::lock_guard lock(mutex_);
  if (mode_ == Progress::Mode::kNone) return;
  const std::string who = r.backend + (r.implementation.empty() ? "" : ":" + r.implementation);
  const size_t shown = ++shown_[r.outcome + " " + who];
  if (shown > kShownOfAKind) return;
  const std::string outcome = InColour(colour_, ColourOf(r.outcome), Printable(r.outcome));
  std::string text = fmt::format("{}  {}  {}", outcome, Printable(who), Printable(r.case_id));
  if (!r.reason.empty()) text += "\n" + ReasonText(r.reason);
  if (shown == kShownOfAKind) text += "\n    Further results of this kind are only counted here; the report has all.";
  Say(text);
}

void RunWatch::Noted(const std::string& text) {
  const std::lock_guard lock(mutex_);
  Say(text);
}

void RunWatch::End() {
  const std::lock_guard lock(mutex_);
  progress_.reset();
}

void RunWatch::Say(const std::string& line) {
  if (progress_) progress_->Clear();
  Note(line);
}

}  // namespace assay::cli
