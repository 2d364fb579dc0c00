// SPDX-License-Identifier: Apache-2.0
// Mistakes that explain a wrong result: the same tensors are the right result of another case (case_change.h). A cause
// is named only where all outputs hold by the same contract then, in bound, exceptional values and statistic, so that
// no single element contradicts it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/judge/metrics.h"
#include "harness/tools/explain/case_change.h"
#include "harness/tools/explain/search_work.h"

namespace assay {

// How much of a result a change explains.
enum class Reach : uint8_t { kNothing, kWrongPlaces, kAll };

class WrongPlaces;

// Bits of evidence that a cause needs. Of some four hundred that are tried, one in twenty results has one by chance.
inline constexpr double kLeastBits = 13;
// Bits that a change of all operands needs where it explains wrong places alone, in which another mistake may have the
// same effect: measured, more than half of these were named wrongly with fewer.
inline constexpr double kLeastBitsOfMoved = 24;

// A result, and what it is held against.
struct WrongResult {
  const Operator& op;
  const Problem& problem;
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& got;  // of each output
  const Contract& contract;
  const Golden& golden;  // of the wrong output
  Tier tier = Tier::kFast;
  // An output that is wrong, and some elements where it shows: a change is tried on slices around them first.
  size_t output = 0;
  std::vector<int64_t> elements;
  // Where it is wrong, made by FindCauses and IsCause: a change may explain these places alone.
  const WrongPlaces* places = nullptr;
  double most_flops = 1e8;  // of a case that has no slices, and is computed as a whole; FindCauses takes its work
  double least_bits = kLeastBits;
  // The result of the same kernel on other data, with `places` and 0 for `least_bits`: a change that it contradicts, or
  // one beside it, is no cause.
  const WrongResult* beside = nullptr;
  SearchWork* work = nullptr;  // set by FindCauses: what it has spent, and may
  bool is_exact = false;       // on data of which correct kernels round nothing
  bool is_right = false;       // it held: only roundings, which would show, are contradicted by it
};

// How near an output comes to golden values.
struct ResultFit {
  int64_t values = 0;  // two per complex element
  int64_t wrong = 0;   // beyond their tolerance, or wrong among NaN and infinities
  int64_t equal = 0;   // the golden value, rounded to the output's type
  double rms = 0;      // of the errors
};
ResultFit MeasureFit(const ElementJudge& judge, const ErrorMetrics& metrics, const Tensor& got);

struct Cause {
  CaseChange change;
  ResultFit fit;  // of the wrong output, to the golden values of the changed case
  // Elsewhere the result is right as it was meant, and `fit` holds what is nearer: a bug of one tile, row or lane.
  bool where_wrong = false;
};

// Changes that explain the result, in the order of ListChanges, at most kMostCauses and one of each attribute; none if
// nothing is wrong with it, or too little to say why. Where none explains all of it, those that explain each wrong
// element.
// Another one is tried only as long as `work` is not over.
inline constexpr size_t kMostCauses = 3;
std::vector<Cause> FindCauses(const WrongResult& result, SearchWork& work);

// Why no cause of this result is looked for, in words; "": one is.
std::string ExplainNoSearch(const WrongResult& result);

// Whether this change explains the result, as the causes of FindCauses do. Of a change of the formula the case may have
// other extents than the one for which it was found.
bool IsCause(const WrongResult& result, const CaseChange& change);

// Writes an attribute and its value, as in a command of whoever asks.
using AttributeText = std::function<std::string(const CaseChange&)>;
// "--attr causal=1", "the operand k all 0".
std::string DescribeCause(const Problem& problem, const Cause& cause, const AttributeText& attribute);
// "; it is the right result of causal=1, or of the operand k all 0"; "" without causes.
std::string DescribeCauses(const Problem& problem, const std::vector<Cause>& causes, const AttributeText& attribute);

// Judged, and searched for causes, in a moment.
bool IsSmall(const Problem& problem);

}  // namespace assay
