// SPDX-License-Identifier: Apache-2.0
// No retry hides a failure. A result that ended with its worker, by a crash or a time limit, is made once more, in a
// fresh worker and with nothing else at work: the same end stays the verdict; another one, whatever it is, makes the
// result flaky, which fails as well.
#pragma once

#include <string>

#include "harness/run/trial/case_runner.h"

namespace assay {

// Whether the attempt through this device ended with its worker.
bool EndedWithItsWorker(const Device& device, const Attempt& attempt);

// How it ended with its worker, or with its device: "crash: ..."; "" where it did not.
std::string HowItEnded(const Attempt& attempt);

// Tries once more. The attempt gets what became of that in its reason and, where it ended otherwise, the verdict flaky.
// `timed`: it ended while it was timed, so the second one is timed too. Nothing else should run meanwhile.
void TryOnceMore(CaseRunner& runner, const Device& device, Attempt& attempt, bool timed);

}  // namespace assay
