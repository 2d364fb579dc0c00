// SPDX-License-Identifier: Apache-2.0
// Cases whose outputs a program far from assay computes: a folder with the inputs of each and with manifest.json, which
// says where the outputs are expected and nothing of the answers; and the judgement of what came back.
//   DIR/manifest.json           {"format", "tool_version", "tensors": "npy", "plan": plan.json, "cases": [...]}
//   DIR/<hash of id>/a.npy      an input
//   DIR/<hash of id>/out/y.npy  an output; or .safetensors, with the name of the output
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/tools/check/suite_case.h"

namespace assay {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr int kManifestFormat = 1;

enum class TensorFiles : uint8_t { kNpy, kSafetensors };

// `on_case` is called with each case before it is made; false: no more. Errors: the folder is not empty, a file cannot
// be written, a case does not fit into memory.
Status WriteCaseFiles(const std::filesystem::path& dir, const Plan& plan, const std::vector<PlannedCase>& cases,
                      TensorFiles files, const std::function<bool(const std::string& id)>& on_case);

struct ReturnedTensors {
  PlannedCase planned;
  std::string folder;      // DIR/<hash>
  std::string input_hash;  // of what was written
  bool given = false;      // the inputs are those in the files (harness/tools/check/given_files.h)
};
struct Returned {
  Plan plan;
  std::vector<ReturnedTensors> cases;
};

// Errors name the file and what is wrong in it.
Result<Returned> ReadManifest(const std::filesystem::path& dir);

// Whether any output of the case is there.
bool HasReturned(const ReturnedTensors& returned);

// The case with its inputs and with what came back, and how it is judged: by `contract`, as JudgeOutputs has it.
struct LoadedOutputs {
  UserTensors user;
  CheckRequest request;
};
Result<LoadedOutputs> LoadReturned(const ReturnedTensors& returned, const std::string& contract);

// The record of one case, of `backend`: what JudgeOutputs finds, or `error` with what is wrong with its files.
Record JudgeReturned(const ReturnedTensors& returned, const std::string& contract, const std::string& backend);

}  // namespace assay
