// SPDX-License-Identifier: Apache-2.0
// Several results of one case beside each other, of which nobody knows which is right: how far each is from the golden
// values, which of them have the same bits, and where the others differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/tools/explain/case_with_outputs.h"

namespace assay {

struct RankedResult {
  size_t result = 0;    // of CaseWithOutputs::results
  std::string verdict;  // by itself
  bool fails = false;
  Contract contract;
  double share = 0;   // its largest error, in tolerances of its contract; infinity for a wrong NaN or infinity
  std::string place;  // where it is: "y[3,5]"
  double rms = 0;     // of the errors of all outputs
  int64_t wrong = 0;  // values
};

// Where two of the results differ in one output.
struct ResultDifference {
  size_t output = 0;
  int64_t elements = 0, differing = 0;
  std::string where;
  int64_t furthest = 0;                      // element
  double first = 0, second = 0, golden = 0;  // there
  double ulps = 0;                           // of their distance there; 0: they are no floating-point numbers
  double tolerances = 0;                     // of their distance there, by the contract of the first; NaN beside NaN: 0
  int64_t nearer = 0;                        // values of the first that are nearer to the golden values
};

struct Ranking {
  std::vector<RankedResult> order;         // the nearest first
  std::vector<std::vector<size_t>> equal;  // results of equal bits; the ranks in `order`
  std::optional<size_t> odd;               // rank of the one of three or more that is wrong while all others are right
  std::vector<std::vector<ResultDifference>> differences;  // of each set of equal bits from the first, without it
};

// Fills share, place, rms and wrong. Precondition: golden values are there.
void MeasureDistance(const CaseWithOutputs& of, RankedResult& result);

// `results` have their verdicts and contracts. Precondition: each has outputs.
Ranking RankResults(const CaseWithOutputs& of, std::vector<RankedResult> results);

// "" of a single result.
std::string RankingText(const CaseWithOutputs& of, const Ranking& ranking);
Json RankingJson(const CaseWithOutputs& of, const Ranking& ranking);

}  // namespace assay
