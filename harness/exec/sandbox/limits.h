// SPDX-License-Identifier: Apache-2.0
// How much of the machine a worker may use, by setrlimit: each has a name on the command line, and a sentence for the
// worker that ended by it.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/base/result.h"

namespace assay {

// 0: not limited.
struct WorkerLimits {
  uint64_t memory_bytes = 0;                 // of each process: heap and private mappings
  uint64_t file_bytes = uint64_t{64} << 30;  // of each file
  uint64_t processes = 16384;                // and threads, besides those that its user has when it starts
  uint64_t descriptors = 65536;              // of each process
  bool operator==(const WorkerLimits&) const = default;
};

// "memory=8G", "file=500M", "processes=100", "descriptors=1024", "memory=none". Units K, M, G, T are powers of 1024.
Status SetLimit(const std::string& text, WorkerLimits& limits);

// Limits the calling process and what it starts. Lower limits of the system stay.
void ApplyLimits(const WorkerLimits& limits);

// Names the limit that may have ended a worker killed by `signal`, or failed otherwise if it is 0: "its files may have
// at most 64 GiB (--worker-limit file=64G)"; "" if none can have.
std::string LimitHint(const WorkerLimits& limits, int signal);

}  // namespace assay
