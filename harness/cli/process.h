// SPDX-License-Identifier: Apache-2.0
// What a program of this project does before anything else.
#pragma once

#include <exception>
#include <functional>

namespace assay::cli {

// Whether this process is a worker of a run: the program started itself as `worker --fd N`.
bool IsWorker(int argc, char** argv);

// File permissions, and how memory is kept.
void PrepareProcess(int argc, char** argv);

// Runs the program, and returns its exit code, in a thread with room where the shell grants a small stack (ulimit -s 64),
// which threads without a size of their own would have as well. An exception of it becomes its exit code.
int RunOnLargeStack(const std::function<int()>& program);

// Says which operators' definitions are wrong, and returns the exit code of that; 0: none is.
int RefuseMistakes();

// The exit code of what nobody has caught, which it says.
int ComplainOfException(const std::exception& exception);

}  // namespace assay::cli
