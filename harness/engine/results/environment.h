// SPDX-License-Identifier: Apache-2.0
// The machine and build behind a run's numbers, for environment.json.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/json.h"

namespace assay {

// Keys of environment.json that say how a run ended: by its user, at its first failures, before it began, without a
// backend that it needs, or with a device that went away after it had given its verdicts. strict and published_seed
// say how it was asked.
inline constexpr const char* kInterruptedKey = "interrupted";
inline constexpr const char* kStoppedKey = "stopped_at_failures";
inline constexpr const char* kStrictKey = "strict";
// Suite `conformance` with the data of its published seed.
inline constexpr const char* kPublishedSeedKey = "published_seed";
inline constexpr const char* kRequiredAbsentKey = "required_absent";
inline constexpr const char* kDeviceLostKey = "device_lost";
// Terms by which outputs are drawn as evidence: an object of a run, or of each part of a merged one.
inline constexpr const char* kEvidenceKey = "evidence";

Json DescribeEnvironment();
std::string TimestampUtc();  // 2026-01-31T12:00:00Z
std::string ToolVersion();   // 0.1.0

// Class of a machine from its name by uname and the flags in /proc/cpuinfo: "x86-64-avx2", "x86-64-amx", "aarch64-sve".
// Returns the machine alone if its flags are unknown.
std::string ProcessorClassOf(std::string_view machine, std::string_view flags);

std::string ProcessorClass();  // of this host

}  // namespace assay
