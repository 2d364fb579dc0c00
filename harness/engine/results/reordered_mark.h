// SPDX-License-Identifier: Apache-2.0
// The field `reordered` that assay fingerprint adds to lines of results.jsonl after the run. Whoever hands the run in
// takes it away again: the files that a bundle commits to are those that the run wrote.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Puts the mark at the end of a record's line, which has no newline, instead of one that is there.
std::string MarkRecordLine(std::string_view line, bool reordered);

// Returns the lines as they were before they were marked, to the byte.
std::string RemoveReorderedMarks(std::string_view lines);

}  // namespace assay
