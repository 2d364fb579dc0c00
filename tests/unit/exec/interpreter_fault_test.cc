// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/interpreter_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

using testing::TempDir;

// What CPython 3.11 prints of an abort() within an import, between other text.
constexpr const char* kPrinted =
    "free(): invalid pointer\n"
    "Fatal Python error: Aborted\n"
    "\n"
    "Thread 0x00007f3a (most recent call first):\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 324 in wait\n"
    "  File \"/opt/assay/_worker.py\", line 40 in _tell_where\n"
    "\n"
    "Current thread 0x00007f3b (most recent call first):\n"
    "  File \"/x/deep.py\", line 7 in fourth\n"
    "  File \"/x/deep.py\", line 6 in third\n"
    "  File \"/x/deep.py\", line 5 in second\n"
    "  File \"/x/\\xfcber.py\", line 2 in <module>\n"
    "  File \"<frozen importlib._bootstrap>\", line 241 in _call_with_frames_removed\n"
    "  File \"/opt/assay/_worker.py\", line 30 in _import_file\n"
    "\n"
    "Extension modules: numpy.core._multiarray_umath (total: 1)\n";

TEST(InterpreterFault, NamesTheInnermostPlacesAndOneInTheFileOfKernels) {
  EXPECT_EQ(PlacesOfFault(kPrinted, {"/x/\xC3\xBC"
                                     "ber.py",
                                     "/opt/assay"}),
            "; at /x/deep.py:7 in fourth; from /x/deep.py:6 in third; from \xC3\xBC"
            "ber.py:2 in <module>");
  EXPECT_EQ(PlacesOfFault(kPrinted, {"/x/other.py", "/opt/assay"}),
            "; at /x/deep.py:7 in fourth; from /x/deep.py:6 in third; from /x/deep.py:5 in second");
  EXPECT_EQ(BeforeFault(kPrinted), "free(): invalid pointer\n");
}

TEST(InterpreterFault, QuotesTheLineOfTheFileOfKernelsAlone) {
  const std::string path = TempDir() + "/crashing_kernels.py";
  std::ofstream(path) << "import os\n    os.abort()  # here\n";
  const std::string printed = "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n  File \"" +
                              path + "\", line 2 in <module>\n";
  EXPECT_EQ(PlacesOfFault(printed, {path, "/opt/assay"}), "; at crashing_kernels.py:2 in <module>: os.abort()  # here");
  EXPECT_THAT(PlacesOfFault(printed, {"/x/mine.py", "/opt/assay"}),
              testing::EndsWith("crashing_kernels.py:2 in <module>"));
}

TEST(InterpreterFault, OfALibrarysOwnThreadSaysWhatTheFileWasAt) {
  const std::string printed =
      "Fatal Python error: Segmentation fault\n\nCurrent thread 0x2 (most recent call first):\n  <no Python frame>\n\n"
      "Thread 0x1 (most recent call first):\n  File \"/x/mine.py\", line 9 in <module>\n";
  EXPECT_EQ(PlacesOfFault(printed, {"/x/mine.py", "/opt/assay"}), "; at mine.py:9 in <module>");
  EXPECT_EQ(PlacesOfFault(printed, {"/x/other.py", "/opt/assay"}), "");
}

TEST(InterpreterFault, OtherTextIsNone) {
  for (const char* text :
       {"", "Traceback (most recent call last):\n  File \"/x/mine.py\", line 2 in f\n",
        "said \"Fatal Python error: Aborted\"\n", "Fatal Python error: Aborted\n",
        "Fatal Python error: \nCurrent thread 0x1 (most recent call first):\n  File \"/x\", line x in f\n"
        "  File \"\n  File \", line 3 in f\n"}) {
    EXPECT_EQ(PlacesOfFault(text, {"/x/mine.py", "/opt/assay"}), "") << text;
  }
  EXPECT_EQ(BeforeFault("said \"Fatal Python error: Aborted\"\n"), "said \"Fatal Python error: Aborted\"\n");
}

}  // namespace
}  // namespace assay
