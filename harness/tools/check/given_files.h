// SPDX-License-Identifier: Apache-2.0
// Case files of inputs that no fill of assay's has made, such as those of another project: written in the form of
// WriteCaseFiles, each with the key "given", and judged with what lies in the files. Their ids have the fill `user` and
// their number as seed, so that cases of one shape with other data are others.
#pragma once

#include "harness/core/data/safetensors.h"
#include "harness/tools/check/case_files.h"

namespace assay {

struct GivenTensors {
  PlannedCase planned;              // of any fill
  std::vector<NamedTensor> inputs;  // in the shapes and types of its operands
  std::vector<NamedTensor> outputs;
};

// Where the outputs that came with the inputs go: among those to judge, or into a folder of their own.
enum class GivenOutputs : uint8_t { kJudged, kApart };

// `suite`: what the plan has as its name. Errors as of WriteCaseFiles.
Status WriteGivenFiles(const std::filesystem::path& dir, const std::string& suite, std::vector<GivenTensors> cases,
                       TensorFiles files, GivenOutputs outputs);

// The case of such an id, with it.
Result<PlannedCase> PlanGivenAgain(const std::string& id, const std::string& requirement);

// The case with the inputs in its files.
Result<UserTensors> LoadGivenCase(const ReturnedTensors& returned);

}  // namespace assay
