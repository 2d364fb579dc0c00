// SPDX-License-Identifier: Apache-2.0
// Detects errors that are too small for any single result but significant over all results (harness/judge/README.md,
// "Pooled tests"). A question is a number that correct arithmetic leaves at zero: the relative error that all
// results have in common, the share of an operand's last bits that has no effect. Each result adds a few sums to its
// answer; records carry them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/record_list.h"

namespace assay {

// Questions about an attribute and about the last bits of operands, with its name, or their number and the operand,
// behind.
inline constexpr std::string_view kConstantQuestion = "constant_", kOperandBitsQuestion = "operand_bits_";

// How many results are not the nearest outputs.
inline constexpr std::string_view kRoundingsQuestion = "roundings";

// Contribution of one result to the answer c = agreement / information of a question.
struct PooledTest {
  std::string question;    // "factor"; "mean/factor" of one of several outputs
  bool proves = false;     // the answer fails a run by itself; else with --strict
  double agreement = 0;    // sum of w g d: how the errors d agree with the effect g that is asked for, weighted
  double information = 0;  // sum of w g^2
  double variance = 0;     // of the agreement where errors are what the contract's model says, its slack included
  double granted = 0;      // how far the contract lets the agreement be off without any chance
  double step = 0;         // what a single independent part can add to the agreement: its tail's scale
  uint32_t data = 0;       // the same number where another case has the same data in its first rows; 0: not known
};

std::string ToText(std::span<const PooledTest> tests);
// Entries that cannot be parsed are skipped.
std::vector<PooledTest> ParsePooledTests(std::string_view text);

// A question about one implementation, over all of a run's results that count: those that pass, or are inconclusive.
struct PooledAnswer {
  std::string backend, device, implementation, op, dtype, question;
  bool proves = false;
  int64_t results = 0;   // that say something about it
  double answer = 0;     // c
  double deviation = 0;  // of c
  double granted = 0;    // in units of c
  double margin = 0;     // |c| over what contract and chance permit; above 1 is a finding

  bool IsFinding() const { return margin > 1; }
  std::string Text() const;  // "results are 3.1e-07 too large, ..."
};

// How often correct arithmetic has any finding in a run, of all implementations and questions together.
inline constexpr double kPooledDelta = 1e-6;

// All answers, by implementation, in the order of the records.
std::vector<PooledAnswer> PoolTests(const RecordView& records);
// Only the answers that are findings.
std::vector<PooledAnswer> FindPooled(const RecordView& records);

}  // namespace assay
