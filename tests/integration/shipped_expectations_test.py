#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The known failures that backends ship are of cases that there are: shipped_expectations_test.py ASSAY FILE..."""
import fnmatch
import pathlib
import subprocess
import sys
import unittest

ASSAY, *FILES = sys.argv[1:]


class ShippedExpectations(unittest.TestCase):
    def test_every_glob_matches_a_case_of_the_suites(self):
        cases = []
        for suite in ("smoke", "default", "full", "conformance"):
            listed = subprocess.run([ASSAY, "list", "cases", "--suite", suite], capture_output=True, text=True, check=True)
            cases += listed.stdout.splitlines()
        self.assertGreater(len(cases), 1000)
        globs = 0
        for path in map(pathlib.Path, FILES):
            for line in path.read_text().splitlines():
                if not line or line.startswith("#"):
                    continue
                glob = line.split("|")[0].strip()
                globs += 1
                with self.subTest(file=str(path), glob=glob):
                    self.assertNotRegex(glob, r"[\[\]]")  # which fnmatch would take for a set
                    self.assertTrue(fnmatch.filter(cases, glob), "no case of this name")
        self.assertGreater(globs, 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
