// SPDX-License-Identifier: Apache-2.0
// Random sums, computed again as a passport says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/tools/fingerprint/passport.h"

namespace assay {

// Sums of normal deviates, rounded to the operands' type; the same at each call.
std::vector<ProbeSum> RandomSums(const Prober& prober, int count);

// A sum as the passport's prediction computes it, in the type of the output. Precondition: it has one.
double PredictSum(const Passport& passport, const ProbeSum& terms, DType out);

// Sets `predicted` where order and rounding are known, and the sums are of the terms as they are. Errors: the
// backend's.
Status Predict(Prober& prober, Passport& passport);

// Recorded results that a passport gives to the bit. Such a result is `reordered`: right but for the order and the
// roundings of its sums.
struct RecordedResult {
  std::string case_id, input_hash, output_hash, device;
};

// Sets `reordered` and `unexplained`. Neither gets results of which nothing can be said: the passport does not predict
// all random sums, the operator does not show its terms, or there are too many of them.
void ExplainResults(const std::vector<RecordedResult>& results, Passport& passport);

// Marks each record of the run of which a passport of its device says it, as passports.json has them; other lines stay
// as they are. Errors: the file cannot be read or written, or a run is still writing it.
Status MarkReordered(const std::filesystem::path& run, const Json& passports);

}  // namespace assay
