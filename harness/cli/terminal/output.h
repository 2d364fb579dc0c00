// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error as other programs leave them: closed, a full device, a pipe that nobody reads any
// more. None of that ends a run or loses a record.
#pragma once

#include <string_view>

namespace assay::cli {

// Opens closed standard streams, so that no file of the run takes their place. Writing to them then fails, as it
// should.
void KeepStandardStreams();

// Text on standard output. A failure is kept for FinishOutput.
void Print(std::string_view text);

// Records a failure that other code met on standard output.
void NoteOutputError(int error_number);

// Prints a line to standard error, after "assay: ". Errors are ignored.
void Note(std::string_view line);

// Flushes standard output and returns the exit code: `code`, or, when a part of the output was lost, that of a harness
// error, and says why. A pipe whose reader has left (assay run | head) is no failure.
int FinishOutput(int code);

}  // namespace assay::cli
