// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "harness/core/base/amounts.h"
#include "harness/tools/candidate/judge_results.h"

namespace assay {
namespace {

struct Advice {
  std::string_view what, text;
};

// Advice for each kind of failure.
constexpr Advice kAdvice[] = {
    {"load", "The file must import without an error and register its kernels with @assay.kernel."},
    {"mismatch", "Run the line of `reproduce` to see the wrong elements beside the right ones."},
    {"below_contract",
     "Compute with the precision that the case requires, or judge by the contract that is meant: "
     "--contract."},
    {"nondeterministic",
     "The contract says det=yes, and two executions on the same data differ: leave det out, or fix "
     "the order of the sums."},
    {"flaky", "It failed once and passed once on the same data: look for races, and for memory that is not written."},
    {"crash", "The interpreter ended within the kernel. A kernel must not end the process."},
    {"timeout", "The kernel did not return. --timeout gives it more seconds."},
    {"error",
     "The kernel raised an exception or returned a wrong kind of value; the reason has the last lines of the "
     "traceback."},
    {"unsupported",
     "The case belongs to the task, so the candidate has to take it. Where only a part is asked for, say so with "
     "--op, --dtype or the cases."},
    {"timing_invalid",
     "The work must be done when the kernel returns, on the operands that it was given, and times must "
     "be those of the clock."},
    {"pooled", "No single result shows it: all of them together are off in the same way."},
};

std::string_view AdviceFor(std::string_view what) {
  for (const Advice& advice : kAdvice) {
    if (advice.what == what) return advice.text;
  }
  return "";
}

std::string CountsText(const VerdictCounts& counts, std::string_view set) {
  std::string text = fmt::format("{} of {} {} cases pass", counts.passed, counts.cases, set);
  const auto add = [&](size_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(counts.failed, "fail");
  add(counts.inconclusive, "are inconclusive");
  add(counts.disputed, "fail in the reference too");
  add(counts.not_run, "have not run");
  return text;
}

std::string CountsText(const Ruling& ruling) {
  return fmt::format("{}; {}.", CountsText(ruling.visible, "visible"), CountsText(ruling.hidden, "hidden"));
}

// Ends the text with a period.
std::string Ended(const std::string& text) {
  return text.ends_with('.') ? text : text + ".";
}

std::string_view PlaceOf(const CandidateFailure& failure) {
  return failure.set == "hidden" ? " (hidden)" : "";
}

}  // namespace

const char* Name(RulingVerdict verdict) {
  constexpr const char* kNames[] = {"accepted", "rejected", "error"};
  return kNames[static_cast<int>(verdict)];
}

std::string RejectedLine(const Ruling& ruling) {
  const CandidateFailure& first = ruling.failures.front();
  if (first.what == "load") return "the file of the candidate cannot be used: " + first.reason;
  if (first.case_id.empty()) return fmt::format("{}: {}", first.what, first.reason);
  return fmt::format("{} on {}{}: {}", first.what, first.case_id, PlaceOf(first), first.reason);
}

std::string AcceptedLine(const Ruling& ruling) {
  const size_t passed = ruling.visible.passed + ruling.hidden.passed;
  return fmt::format("{} {}; {}", Counted(passed, "case"), passed == 1 ? "passes" : "pass", SpeedText(ruling.speed));
}

std::string ExplainRejection(const Ruling& ruling) {
  const CandidateFailure& first = ruling.failures.front();
  std::string text = Ended(RejectedLine(ruling));
  if (first.what != "load") text += " " + CountsText(ruling);
  if (!first.arithmetic.empty()) text += fmt::format(" The errors look like those of {}.", first.arithmetic);
  if (ruling.visible.failed == 0 && ruling.hidden.failed > 0 && ruling.visible.passed > 0 &&
      first.what != "timing_invalid") {
    text += " Every visible case passes: what it computes depends on shapes or data that only those have.";
  }
  if (const std::string_view advice = AdviceFor(first.what); !advice.empty()) text += fmt::format(" {}", advice);
  return text;
}

std::string ExplainAcceptance(const Ruling& ruling) {
  std::string text = CountsText(ruling);
  if (ruling.suspects > 0) {
    text += fmt::format(" {} of the results are suspect: within their bounds, with larger errors than usual.",
                        ruling.suspects);
  }
  return text + fmt::format(" Speed: {}.", SpeedText(ruling.speed));
}

std::string ExplainError(const Ruling& ruling) {
  const std::string text = Ended("The candidate cannot be judged: " + ruling.reason);
  return ruling.visible.cases == 0 ? text : text + " " + CountsText(ruling);
}

std::string SpeedText(const CandidateSpeed& speed) {
  if (!speed.why.empty()) return "not known: " + speed.why;
  const TimeComparison& time = speed.all;
  const std::string ratio = fmt::format("{:.3g} times as fast as the reference", 1 / time.ratio);
  if (!time.bounded) return fmt::format("not known: {} ({} in the middle of the rounds)", time.why, ratio);
  return fmt::format("{} ({:.3g} to {:.3g})", ratio, 1 / time.high, 1 / time.low);
}

}  // namespace assay
