// SPDX-License-Identifier: Apache-2.0
// Where an interpreter was when it crashed, by what its faulthandler has printed: the traceback of a Python that can
// make no exception any more. What prints it is untrusted: the text goes into messages alone.
#pragma once

#include <string>
#include <string_view>

namespace assay {

struct InterpretedFiles {
  std::string kernels;  // that the interpreter has imported, as an absolute path
  std::string package;  // the folder of the module that imported it, whose own places say nothing to a user
};

// Offset at which to cut a long text so that the last fault stays whole, with some of the output before it. Returns the
// end of the text if there is no fault, or if it is too long.
size_t FindFaultBegin(std::string_view printed);

// Removes the traceback of the last fault and its list of modules. "Fatal Python error: REASON" stays unless the reason
// is a signal. A text without a traceback stays as it is.
std::string StripTraceback(std::string_view printed);

// "; at mine.py:4 in <module>: os.abort()", followed by its callers: at most three places, the innermost first. One is
// in the file of kernels if any is. "" if no place is known.
std::string PlacesOfFault(std::string_view printed, const InterpretedFiles& files);

}  // namespace assay
