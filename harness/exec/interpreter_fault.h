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

// Where what is kept of a long text has to begin so that the last fault is whole, with something of what was printed
// before it; its end where there is none, or one that is too long.
size_t BeginOfFault(std::string_view printed);

// What was printed without the traceback of the last fault and its list of modules. "Fatal Python error: REASON" stays
// unless the reason is a signal; all stays of what has no traceback.
std::string WithoutTraceback(std::string_view printed);

// "; at mine.py:4 in <module>: os.abort()", with the places from which that was called; at most three, the innermost
// first, and one in the file of kernels among them where there is one. "": none is known.
std::string PlacesOfFault(std::string_view printed, const InterpretedFiles& files);

}  // namespace assay
