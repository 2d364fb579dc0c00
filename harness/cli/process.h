// SPDX-License-Identifier: Apache-2.0
// What a program of this project does before anything else.
#pragma once

namespace assay::cli {

// Whether this process is a worker of a run: the program started itself as `worker --fd N`.
bool IsWorker(int argc, char** argv);

// File permissions, and how memory is kept.
void PrepareProcess(int argc, char** argv);

}  // namespace assay::cli
