// SPDX-License-Identifier: Apache-2.0
// What a program of this project does before anything else.
#pragma once

#include <exception>

namespace assay::cli {

// Whether this process is a worker of a run: the program started itself as `worker --fd N`.
bool IsWorker(int argc, char** argv);

// File permissions, and how memory is kept.
void PrepareProcess(int argc, char** argv);

// Says which operators' definitions are wrong, and returns the exit code of that; 0: none is.
int RefuseMistakes();

// The exit code of what nobody has caught, which it says.
int ComplainOfException(const std::exception& exception);

}  // namespace assay::cli
