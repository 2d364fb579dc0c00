// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/call_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kSlowDevice = 1e9;      // operations or bytes a second: a plain loop on one core
constexpr size_t kManyCalls = 32;        // of a kind, before they say how long one may take
constexpr double kFarLonger = 50;        // than the slowest of them
constexpr double kLeastShortenedS = 15;  // a driver may compile, or clear its cache, within any call

}  // namespace

CallLimit CallLimits::LimitFor(std::string_view call, const CallWork& work) const {
  const double most_s = call == "prepare" ? most_prepare_s_ : most_s_;
  if (is_constant_) return {most_s};
  const auto executions = static_cast<double>(std::max<size_t>(work.executions, 1));
  const double whole_s = std::ceil(most_s + work.amount * executions / kSlowDevice);
  const auto found = history_.find(call);
  if (found == history_.end() || found->second.calls < kManyCalls) return {whole_s};
  const History& past = found->second;
  const double slowest_s = std::max(past.slowest_s, past.slowest_rate * work.amount) * executions;
  const double least_s = compiles_in_calls_ ? std::max(most_s, kLeastShortenedS) : kLeastShortenedS;
  const double shortened_s = std::ceil(std::max(least_s, kFarLonger * slowest_s));
  if (shortened_s >= whole_s) return {whole_s};
  return {shortened_s, fmt::format(", {} times as long as the slowest of {} such calls before would have taken or more "
                                   "(--timeout SECONDS sets a constant instead)",
                                   kFarLonger, past.calls)};
}

void CallLimits::NoteEnd(std::string_view call, const CallWork& work, double seconds) {
  if (is_constant_) return;
  auto found = history_.find(call);
  if (found == history_.end()) found = history_.emplace(call, History{}).first;
  History& past = found->second;
  const double each_s = seconds / static_cast<double>(std::max<size_t>(work.executions, 1));
  ++past.calls;
  past.slowest_s = std::max(past.slowest_s, each_s);
  past.slowest_rate = std::max(past.slowest_rate, each_s / std::max(work.amount, 1.0));
}

void CallLimits::NoteTimeout(std::string_view call) {
  const auto found = history_.find(call);
  if (found != history_.end()) history_.erase(found);
}

}  // namespace assay
