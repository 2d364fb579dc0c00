// SPDX-License-Identifier: Apache-2.0
// Tensors that a user names on the command line: NAME=FILE.npy, NAME=FILE.safetensors or
// NAME=FILE.safetensors:TENSOR (without :TENSOR, the one called NAME, or the only one).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"
#include "harness/engine/trial/reproduction.h"

namespace assay {

// "key=value", each key once. `what` names the option in errors.
Result<std::map<std::string, std::string>> ParsePairs(const std::vector<std::string>& texts, const std::string& what);

// The tensor, as dtype `as` where the user gave one ("" otherwise): u2 and u1 hold its bits; a wider float type whose
// values it holds exactly is narrowed (frameworks store bf16 as f32); a last axis of 2 makes a complex type. Errors
// name operand, file and what to give.
Result<Tensor> LoadOperand(const NamedFile& file, const std::string& as);

// A wider float type whose values the narrower one holds exactly, integers in a wider type, or real numbers whose last
// axis of 2 is a complex one's parts.
Result<Tensor> ConvertTensor(Tensor tensor, DType to);

// NumPy's broadcasting: axes from the last one on are as long as in `to`, or 1, or absent; surplus leading ones are 1.
bool BroadcastsTo(const Shape& from, const Shape& to);
// The tensor with its axes of extent 1 repeated. Precondition: BroadcastsTo.
Tensor BroadcastTo(const Tensor& from, const Shape& to);

}  // namespace assay
