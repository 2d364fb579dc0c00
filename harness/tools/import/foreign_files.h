// SPDX-License-Identifier: Apache-2.0
// Reads files of other projects with the readers in Python (harness/python/assay/importers), in a process of their own.
#pragma once

#include <string>
#include <vector>

#include "harness/tools/import/imports.h"

namespace assay {

struct ForeignFiles {
  std::string format;              // "benchdnn", "ggml", "onnx" or "iree"
  std::vector<std::string> paths;  // of onnx folders
  std::string driver = {};         // benchdnn: of files that name none; "": the name of their folder
  bool near_types = false;         // ggml: takes the type of the weights where an operator here takes one
  bool with_tensors = false;       // onnx: also reads inputs and outputs
  bool by_node = false;            // onnx: each node of a model is a case, with the number of its like as a tag
  bool verbose = false;            // imports hear of each case that is unmapped; else its reason is counted alone
  std::string python = {};         // the interpreter; "": as ChoosePython has it
};

// Adds every case to `imports`. Errors: a file cannot be read or is of another kind, the interpreter or a package that
// it needs is missing (kUsage); the reader ended early (kInternal).
Status ReadForeignFiles(const ForeignFiles& files, Imports& imports);

}  // namespace assay
