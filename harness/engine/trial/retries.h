// SPDX-License-Identifier: Apache-2.0
// No retry hides a failure. A result that ended with its worker, by a crash or a time limit, is made once more, in a
// fresh worker and with nothing else at work: the same end stays the verdict; another one, whatever it is, makes the
// result flaky, which fails as well. The user may ask for more tries, and of other ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/engine/device/reset_hook.h"
#include "harness/engine/trial/trial_runner.h"

namespace assay {

struct RetrySettings {
  int most = 1;
  bool of_answers = false;           // also of errors and changing results, which a worker outlives
  std::shared_ptr<ResetHook> reset;  // runs where a device is lost, before anything else is tried there; null: none
};

// Whether the attempt through this device is to be tried again.
bool IsRetried(const Device& device, const Attempt& attempt, const RetrySettings& settings);

// How it ended with its worker, or with its device: "crash: ..."; "" where it did not.
std::string DescribeEnd(const Attempt& attempt);

// "crash: ...": the verdict, and its reason where it has one.
std::string EndOf(const Attempt& attempt);

// To be called where an attempt may have lost its device, before another one. `seen`: ResetHook::Resets before it.
void ResetDevice(const RetrySettings& settings, const Device& device, const Attempt& attempt, uint64_t seen);

// Tries again until an end is another one. The attempt gets what became of that in its reason, the ends in its record
// and, where they differ, the verdict flaky; not so where `device`, as the first one was set aside, is another of its
// pool: the failure is then that one's own. A try for which no worker starts is none, and the reason says so. One that
// is interrupted leaves the attempt interrupted too. `timed`: it ended while it was timed, so further ones are timed
// too. Nothing else should run meanwhile.
void TryAgain(TrialRunner& runner, const Device& device, Attempt& attempt, const RetrySettings& settings, bool timed);

}  // namespace assay
