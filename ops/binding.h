// SPDX-License-Identifier: Apache-2.0
// Helpers that every operator uses to bind a case, make its inputs and name faulty results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace assay {

// The case in canonical form with every attribute of the schema resolved; operands, flops and bytes are the caller's.
Result<Problem> StartProblem(const CaseSpec& spec, const OpSchema& schema);

// A usage error that begins with the operator's name.
tl::unexpected<Error> BindError(const Problem& problem, const std::string& message);

// For InferAttrs: the operand of that name (nullptr when it is not there), the value given for a key (nullptr when
// none is), and a value for a key that has none yet.
const Operand* FindOperand(const std::vector<Operand>& operands, std::string_view name);
const std::string* FindGiven(const AttrList& given, std::string_view key);
void SetIfAbsent(AttrList& given, const std::string& key, const std::string& value);

// Explains an invalid shape attribute: more elements than an index can count; "" if it is valid.
std::string ShapeProblem(const Shape& shape);

// Names the operand that has more elements than can be counted; "" if none has. Call it before any product of extents
// is formed.
std::string SizeProblem(const Problem& problem);

// The longest sum of products of i8 that no order of additions overflows: 128^2 terms < 2^31.
inline constexpr int64_t kMostI8Products = 131071;

// Compulsory traffic: every input read once, the output written once.
double CompulsoryBytes(const Problem& problem);

// Input `index` of the case's fill; the index is also the random stream. `terms` of a sum, where they are more than
// the reduced axis.
Tensor FillInput(const Problem& problem, int index, int reduced_axis, int role, double terms = 0);

// Whether the planes of sums of up to `largest` in magnitude have to be wide.
bool NeedsWidePlanes(DType out, double largest);
// The largest finite magnitude of a tensor.
double LargestFinite(const Tensor& tensor);
bool AllFinite(std::span<const double> values);

// Element i as double.
double ValueAt(const Tensor& tensor, int64_t i);

// The terms whose omission is tried at an output: first, last and 14 random ones; all of them when there are no more
// than 16. Ascending, without repetition.
inline constexpr int64_t kMostSampledTerms = 16;
std::vector<int64_t> SampledTerms(int64_t terms, int64_t output);

}  // namespace assay
