// SPDX-License-Identifier: Apache-2.0
// The node tests of ONNX: folders with model.onnx and test_data_set_0/input_0.pb, output_0.pb, ...
#pragma once

#include <filesystem>

#include "harness/tools/import/imports.h"

namespace assay {

enum class OnnxData : uint8_t { kShapesAlone, kWithTensors };

// One such folder, or all that lie in a folder. Errors: there is none, or it cannot be read.
Status ImportOnnx(const std::filesystem::path& folder, OnnxData data, Imports& imports);

}  // namespace assay
