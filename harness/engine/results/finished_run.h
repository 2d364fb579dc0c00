// SPDX-License-Identifier: Apache-2.0
// Reads the folder of a run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"
#include "harness/judge/verdict.h"

namespace assay {

// The records of a run folder, with one for each planned one that is missing.
struct FinishedRun {
  RecordList records;
  std::string empty;                 // what to say when there are none: a shard without cases; "" for any other reason
  bool strict = false;               // it was asked to be, or its suite is the conformance suite
  bool stopped = false;              // at its first failures
  bool device_lost = false;          // after it had given its verdicts
  bool interrupted = false;          // by its user, before its end
  std::string required_absent;       // the backends that it required and did not find, so that nothing ran; "": none
  std::string torn;                  // that its last line was not written to its end; "": it was. Among the notes too
  std::vector<std::string> doubled;  // results with more than one record. Among the notes too
  std::map<std::string, std::string> definitions;  // digests of those of the plan, by operator
  std::vector<std::string> notes;                  // what is torn or not known, to be told to the user
};

// Flags for the exit code besides the records. `strict` is the option of the present command.
ExitFlags FlagsOf(const FinishedRun& run, bool strict);

// Error: it is the file of a bundle, which has the files of a run in it.
Status RefuseBundle(const std::filesystem::path& path);

// Errors name the file, the line and what to do.
Result<FinishedRun> ReadRun(const std::filesystem::path& dir);

// A file of records by itself: what else was planned is not known.
Result<FinishedRun> ReadRecordsAlone(const std::filesystem::path& jsonl);

// Finds records that no run writes, since somebody joined files or changed one: "CASE of BACKEND IMPLEMENTATION" of
// each record that is not the first of its result. The devices of a pool are one.
std::vector<std::string> FindDoubled(const RecordView& records);

// One line about them. Precondition: there are some.
std::string DoubledText(const std::vector<std::string>& doubled);

}  // namespace assay
