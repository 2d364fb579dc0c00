// SPDX-License-Identifier: Apache-2.0
// Planned results without a record, because the run was interrupted or killed, or has not ended yet: verdict
// `missing`. plan.json names the cases and the devices. The implementations of a device for a case are known once its
// backend has answered; they are then written to offers.jsonl, before the first of them runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"
#include "harness/plan/plan.h"

namespace assay {

inline constexpr const char* kOffersFile = "offers.jsonl";

// The implementations that are run of one case on one device, as the plan has that, after --impl.
struct Offer {
  std::string case_id, backend, device;
  std::vector<std::string> implementations;
};

std::string ToJsonLine(const Offer& offer);  // no newline

// At least the offers of what ran: what `records` show.
std::vector<Offer> OffersIn(const RecordView& records);

// A last line that its writer did not finish is left out. Without the file, OffersIn(records). Errors name the file and
// the line.
Result<std::vector<Offer>> ReadOffers(const std::filesystem::path& jsonl, const RecordView& records);

// The backend of a record that says why a case ran nowhere.
inline constexpr const char* kHarnessBackend = "assay";

// A record of verdict `missing` for each planned one that is not there, of the plan's shard: per implementation where
// an offer names them, else per case and device.
RecordList MakeMissingRecords(const Plan& plan, const std::vector<Offer>& offers, const RecordView& records);

}  // namespace assay
