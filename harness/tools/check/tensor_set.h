// SPDX-License-Identifier: Apache-2.0
// Tensors that are there, whoever read or made them, become a user's case.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/core/data/safetensors.h"
#include "harness/core/model/case_spec.h"
#include "harness/tools/check/asker.h"
#include "harness/tools/check/check_case.h"

namespace assay {

struct TensorSet {
  std::vector<NamedTensor> inputs, outputs;
};

// The operator, or a usage error that says which may be meant.
Result<const Operator*> FindOperator(const std::string& name);

// Whether these are operands of the operator, each once, and all are there that it always has.
Status CheckOperandNames(const OpSchema& schema, std::span<const std::string> inputs,
                         std::span<const std::string> outputs, Asker asker);

// Infers the attributes that the tensors' shapes give and binds the operator. Of the request the files and their types
// do not count. Errors name what the operator takes.
Result<UserTensors> BindTensors(const CheckRequest& request, TensorSet set, Asker asker);

// Leaves the sample that is asked for to be judged, or the whole case where it has none, which then owns its tensors.
// By default places follow from the operands, so that they are the same each time, and no kernel knows them.
Status TakeSample(const CheckRequest& request, UserTensors& user);

// The tensors of those operands, in their order and shapes; axes of extent 1 are repeated where the operator allows it.
// `expected` are of the problem, `outputs` the last of them.
Result<std::vector<Tensor>> TakeTensors(const Problem& problem, const std::vector<Operand>& expected, size_t outputs,
                                        std::vector<NamedTensor> given, Asker asker);

}  // namespace assay
