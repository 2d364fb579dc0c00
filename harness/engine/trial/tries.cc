// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/tries.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "harness/core/base/statistics.h"
#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr size_t kMostChanges = 64;

bool IsFailure(Verdict verdict) {
  return verdict != Verdict::kPass && verdict != Verdict::kInconclusive;
}

template <class Runs>
std::string TextOf(const Runs& runs) {
  std::string text;
  for (const auto& run : runs) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", Name(run.verdict));
    if (run.count > 1) text += fmt::format("*{}", run.count);
  }
  return text;
}

}  // namespace

Tries::Tries(const Record& record) {
  if (Parse(record.tries)) return;
  in_order_.clear(), later_.clear();
  Add(ParseVerdict(record.verdict).value_or(Verdict::kError));
}

// A file may contain anything.
bool Tries::Parse(const std::string& text) {
  const size_t end = std::min(text.find(';'), text.size());
  for (const bool later : {false, true}) {
    const std::string_view part =
        later ? std::string_view(text).substr(std::min(end + 1, text.size())) : std::string_view(text).substr(0, end);
    if (part.empty()) continue;
    for (const std::string_view word : Split(part, ',')) {
      const size_t star = std::min(word.find('*'), word.size());
      const auto verdict = ParseVerdict(word.substr(0, star));
      const auto count = star == word.size() ? 1 : ParseNumber<int64_t>(word.substr(star + 1)).value_or(0);
      if (!verdict || count < 1) return false;
      (later ? later_ : in_order_).push_back({*verdict, count});
    }
  }
  return !in_order_.empty();
}

void Tries::Add(Verdict verdict) {
  Add(verdict, 1);
}

void Tries::Add(Verdict verdict, int64_t count) {
  const bool in_order = later_.empty() && (in_order_.size() < kMostChanges || in_order_.back().verdict == verdict);
  std::vector<Run>& runs = in_order ? in_order_ : later_;
  const auto same = in_order ? (runs.empty() || runs.back().verdict != verdict ? runs.end() : runs.end() - 1)
                             : std::ranges::find(runs, verdict, &Run::verdict);
  if (same == runs.end()) {
    runs.push_back({verdict, count});
  } else {
    same->count += count;
  }
}

int64_t Tries::count() const {
  int64_t sum = 0;
  for (const auto* runs : {&in_order_, &later_}) {
    for (const Run& run : *runs) sum += run.count;
  }
  return sum;
}

int64_t Tries::failed() const {
  int64_t sum = 0;
  for (const auto* runs : {&in_order_, &later_}) {
    for (const Run& run : *runs) {
      if (IsFailure(run.verdict)) sum += run.count;
    }
  }
  return sum;
}

bool Tries::Differ() const {
  const auto differs = [this](const Run& run) {
    const Verdict first = in_order_.front().verdict;
    return run.verdict != first && (IsFailure(run.verdict) || IsFailure(first));
  };
  return std::ranges::any_of(in_order_, differs) || std::ranges::any_of(later_, differs);
}

std::string Tries::Text() const {
  return TextOf(in_order_) + (later_.empty() ? "" : ";" + TextOf(later_));
}

std::string Tries::Counts() const {
  std::vector<Run> sums;
  for (const auto* runs : {&in_order_, &later_}) {
    for (const Run& run : *runs) {
      const auto same = std::ranges::find(sums, run.verdict, &Run::verdict);
      same == sums.end() ? sums.push_back(run) : void(same->count += run.count);
    }
  }
  std::string text;
  for (const Run& sum : sums) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sum.count, Name(sum.verdict));
  }
  return text;
}

void Tries::Describe(Record& record) const {
  const int64_t all = count();
  if (all < 2) return;
  const Interval interval = ShareInterval(failed(), all);
  record.tries = Text();
  record.flake_rate = static_cast<double>(failed()) / static_cast<double>(all);
  record.flake_rate_low = interval.low, record.flake_rate_high = interval.high;
}

}  // namespace assay
