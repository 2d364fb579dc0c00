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

// What was printed before the faulthandler's text; all of it where there is none.
std::string_view BeforeFault(std::string_view printed);

// "; at mine.py:4 in <module>: os.abort()", with the places from which that was called; at most three, the innermost
// first, and one in the file of kernels among them where there is one. "": none is known.
std::string PlacesOfFault(std::string_view printed, const InterpretedFiles& files);

}  // namespace assay
