// SPDX-License-Identifier: Apache-2.0
// Lines for a shell that repeat a result: the run of one case, and the judgement of its tensors alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/engine/cases/sample.h"
#include "harness/engine/trial/trial_runner.h"

namespace assay {

// A word of a shell command line.
std::string Quoted(const std::string& text);

// This program as the first word of a command line that can be pasted anywhere. assay_gtest knows no verbs: in it, the
// program assay beside it.
std::string ProgramWord();

// One line that runs exactly this again; `implementation` may be empty.
std::string ReproductionLine(const RunnerSettings& settings, const PlannedCase& planned, const Device& device,
                             const std::string& implementation);

struct NamedFile {
  std::string name;  // of the operand; "" when only a file was given
  std::string path;
};

// "x=x.npy". Errors: no name, unless `name_optional`; no file.
Result<NamedFile> ParseNamedFile(const std::string& text, bool name_optional);

// The options of `assay check`, as given.
struct CheckRequest {
  std::string op;
  std::vector<std::string> attrs;    // "axis=-1"
  std::vector<std::string> inputs;   // "x=x.npy"
  std::vector<std::string> outputs;  // "y=y.npy" or, of a single one, "y.npy"
  std::vector<std::string> dtypes;   // "x=bf16"
  std::string contract;              // a declaration; "": JudgingContract's default
  std::string requirement;           // that the contract has to meet; "": nothing
  std::string tier = "auto";         // of the golden values
  // Or "full": all causes of a failure are tried, however long it takes; or "no": none, nor weaker arithmetic, nor
  // which single faults would be noticed.
  std::string explain = "quick";
  std::optional<double> search_s;   // seconds for causes, whatever `explain` says
  std::optional<double> exact_ulp;  // the data are such that every legal order gives the same bits; see JudgeUserCase
  SampleRequest sample;
};

// Formats the request as a shell line, with paths that hold in any directory or as they are given. `program` is assay
// as a shell word.
enum class LinePaths : uint8_t { kFromRoot, kAsGiven };
std::string CheckLine(const std::string& program, const CheckRequest& request, LinePaths paths = LinePaths::kFromRoot);

}  // namespace assay
