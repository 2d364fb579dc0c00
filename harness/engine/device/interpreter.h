// SPDX-License-Identifier: Apache-2.0
// The user's Python, which becomes the worker of a file of kernels (--kernels FILE.py).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

struct Interpreter {
  std::vector<std::string> words;     // WorkerOptions::words
  std::vector<std::string> readable;  // where its libraries and modules lie
};

// Longest gap between two executions of a Python kernel on a slow machine: arrays are made of its operands each time.
// This is two to five times what was measured.
inline constexpr double kInterpreterLaunchUs = 100;
// Upper limit if the interpreter states more for a device ("launch_us=500"), such as JAX, whose arrays take longer.
inline constexpr double kMostInterpreterLaunchUs = 1000;

inline bool IsKernelFile(const std::filesystem::path& path) {
  return path.extension() == ".py";
}

// The file of kernels of a framework that the module assay knows. Errors: it knows none of that name.
Result<std::filesystem::path> FrameworkKernels(const std::string& name);

// `stated` is the value of --python. If it is "", the interpreter is $ASSAY_PYTHON (which the program of a wheel sets
// to its own), that of $VIRTUAL_ENV, or python3 on the PATH, in this order.
std::string ChoosePython(const std::string& stated);

// The folder that has the module assay: of an installation, a build tree or a wheel. Errors: this one has none.
Result<std::filesystem::path> FindModules();

// The interpreter that ChoosePython names. It is asked once where its modules lie, outside of any sandbox and without
// the kernels. Errors: it cannot be run, does not answer within `import_timeout_s`, is too old, or this installation
// has no module assay. `import_timeout_s` is also WorkerOptions::import_timeout_s: before it passes, the interpreter
// says where the import is.
Result<Interpreter> FindInterpreter(const std::string& stated, const std::filesystem::path& kernels,
                                    double import_timeout_s);

}  // namespace assay
