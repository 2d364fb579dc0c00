// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/interpreter_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

using testing::TempDir;

// Output of CPython 3.11 for an abort() within an import, between other text.
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

const std::string kFatal = "Fatal Python error: ";

TEST(InterpreterFault, NamesTheInnermostPlacesAndOneInTheFileOfKernels) {
  EXPECT_EQ(PlacesOfFault(kPrinted, {"/x/\xC3\xBC"
                                     "ber.py",
                                     "/opt/assay"}),
            "; at /x/deep.py:7 in fourth; from /x/deep.py:6 in third; from \xC3\xBC"
            "ber.py:2 in <module>");
  EXPECT_EQ(PlacesOfFault(kPrinted, {"/x/other.py", "/opt/assay"}),
            "; at /x/deep.py:7 in fourth; from /x/deep.py:6 in third; from /x/deep.py:5 in second");
  EXPECT_EQ(StripTraceback(kPrinted), "free(): invalid pointer\n");
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
}

TEST(InterpreterFault, TheReasonStaysUnlessItIsASignal) {
  const std::string traceback =
      "Python runtime state: initialized\n\nCurrent thread 0x1 (most recent call first):\n"
      "  File \"/x/mine.py\", line 2 in <module>\n  ...\n\nExtension modules: numpy.core._multiarray_umath (total: "
      "1)\n";
  const std::string own = "Fatal Python error: deallocating None: bug likely caused by a refcount error\n";
  EXPECT_EQ(StripTraceback("said\n" + own + traceback), "said\n" + own);
  for (const char* signal : {"Aborted", "Bus error", "Floating point exception", "Floating-point exception",
                             "Illegal instruction", "Segmentation fault"}) {
    EXPECT_EQ(StripTraceback(std::string("said") + kFatal + signal + "\n" + traceback), "said") << signal;
  }
  const std::string raised = "Traceback (most recent call last):\n  File \"/x/mine.py\", line 2, in f\nValueError: 3\n";
  EXPECT_EQ(StripTraceback(own + raised + "\nExtension modules: numpy.linalg (total: 1)\n"), own + raised);
  const std::string longest = StripTraceback(kFatal + std::string(1000, 'x') + "\n" + traceback);
  EXPECT_THAT(longest, testing::AllOf(testing::StartsWith("Fatal Python error: xxx"), testing::EndsWith("xxx...\n")));
  EXPECT_LE(longest.size(), 401u);
}

TEST(InterpreterFault, WhatIsNoTracebackStays) {
  const std::string vendor = "libvendor: out of command slots\n";
  for (const std::string& text : {"said \"Fatal Python error: Aborted\"\n" + vendor, kFatal + ("\n" + vendor),
                                  kFatal + ("Aborted\n" + vendor), vendor}) {
    EXPECT_EQ(StripTraceback(text), text);
  }
  EXPECT_EQ(StripTraceback(kPrinted + vendor), "free(): invalid pointer\n" + vendor);
}

TEST(InterpreterFault, BeginsALittleBeforeItHoweverLongItIs) {
  const std::string before(100000, 'b'), places(1000000, 'p');
  EXPECT_EQ(FindFaultBegin(before + kFatal + places), before.size() - 4096);
  EXPECT_EQ(FindFaultBegin("said\n" + (kFatal + places)), 0u);
  EXPECT_EQ(FindFaultBegin(before), before.size());
  const std::string endless = before + kFatal + places + places + places;
  EXPECT_EQ(FindFaultBegin(endless), endless.size());
}

}  // namespace
}  // namespace assay
