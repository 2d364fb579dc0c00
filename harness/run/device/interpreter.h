// SPDX-License-Identifier: Apache-2.0
// The user's Python, which becomes the worker of a file of kernels (--kernels FILE.py).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace assay {

struct Interpreter {
  std::vector<std::string> words;     // WorkerOptions::words
  std::vector<std::string> readable;  // where its libraries and modules lie
};

// What lies between two executions of a kernel in Python at most, on a machine that is not fast: arrays are made of its
// operands each time. Two to five times as much as was measured.
inline constexpr double kInterpreterLaunchUs = 100;
// At most where the interpreter says more of a device ("launch_us=500"), as of JAX, whose arrays take longer to make.
inline constexpr double kMostInterpreterLaunchUs = 1000;

inline bool IsKernelFile(const std::filesystem::path& path) {
  return path.extension() == ".py";
}

// The file of kernels of a framework that the module assay knows. Errors: it knows none of that name.
Result<std::filesystem::path> FrameworkKernels(const std::string& name);

// `stated`: of --python; "": $ASSAY_PYTHON, which the program of a wheel sets to its own, that of
// $VIRTUAL_ENV, else python3 on the PATH. It is asked once, outside of any sandbox
// and without the kernels, where its modules lie. Errors: it cannot be run, has not answered within
// `import_timeout_s`, is too old, or this installation has no module assay.
// `import_timeout_s`: also WorkerOptions::import_timeout_s, before which it says where the import is.
Result<Interpreter> FindInterpreter(const std::string& stated, const std::filesystem::path& kernels,
                                    double import_timeout_s);

}  // namespace assay
