// SPDX-License-Identifier: Apache-2.0
// Cases that do not fit into this host are told apart before anything is allocated for them: one oversized case is an
// error of that case, not the end of a run.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/engine/cases/memory_need.h"
#include "ops/operator.h"

namespace assay {

// Bytes that the kernel could hand out now without swapping, or that this process may still map (ulimit -v), or its
// control group and those above it may still take, where that is less; infinity where none says.
double AvailableBytes();

// The folders of the control groups that limit memory, of /proc/self/cgroup: the process's own and all above it.
std::vector<std::filesystem::path> MemoryGroupsIn(std::istream& lines, const std::filesystem::path& mounted);

// Reads "MemAvailable" from `meminfo`, and memory.max, memory.current and memory.stat from `cgroup`, or what version 1
// calls them.
double AvailableBytesIn(const std::filesystem::path& meminfo, const std::filesystem::path& cgroup);

// An error that says how much the case needs when it needs more than `available_bytes`. `tier` as in ChooseTier,
// `sample` as in PrepareCase.
Status CheckFits(const Problem& problem, MemoryUse use, const std::string& tier, double available_bytes,
                 int64_t sample = 0);

// An error of kUnsupported that says how much the case needs where the user permits less; infinity: any amount.
Status CheckPermitted(const Problem& problem, MemoryUse use, const std::string& tier, double most_bytes,
                      int64_t sample = 0);

// Checks against the memory of this host. Before it refuses, it returns memory that the program freed but keeps to the
// kernel and asks `available_bytes` again: whether a case fits does not depend on earlier ones.
Status CheckFitsHost(const Problem& problem, MemoryUse use, const std::string& tier,
                     const std::function<double()>& available_bytes = AvailableBytes, int64_t sample = 0);

// An error where the file of a tensor, which is held twice while it is read, is larger than the memory. None where
// there is no such file.
Status CheckFileFits(const std::filesystem::path& file, double available_bytes = AvailableBytes());

// On how many of `devices` the case may be judged at once: each has the operands in memory that it shares with its
// worker and, on a CPU, in the worker's own. What all but the first hold stays below kMostBytesBeside, and below what
// is available beside the case. `tier` as in ChooseTier.
size_t CountParallelDevices(const Problem& problem, const std::string& tier, size_t devices,
                            const std::function<double()>& available_bytes = AvailableBytes);
inline constexpr double kMostBytesBeside = 0x1p27;

// Cases of more bytes than this are handled so that the host holds little of them beside what is needed at the time,
// at the price of making some of it twice and of fresh pages.
inline constexpr double kLargeCaseBytes = 0x1p24;
inline bool IsLarge(const Problem& problem) {
  return problem.bytes > kLargeCaseBytes;
}

// Tensors come and go by the thousand in a run. Returned to the kernel each time, their pages would be faulted in and
// cleared again for every execution. Call it before there are threads.
void KeepFreedMemory();

// Hands memory that the program freed but keeps back to the kernel.
void ReturnFreedMemory();

// Message of an exception for the user: that of std::bad_alloc names nothing.
std::string DescribeException(const std::exception& exception);

}  // namespace assay
