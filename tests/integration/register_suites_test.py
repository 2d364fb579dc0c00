#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How tests/register_suites.cmake registers suites of a GoogleTest program with ctest: register_suites_test.py CLASS, with a
program that lists and ends its tests as GoogleTest does."""
import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "register_suites.cmake"
PROGRAM = """#!/bin/sh
case "$*" in
*--gtest_list_tests*)
  printf 'Running main() from gtest_main.cc\\nPlain.\\n  One\\nTypes/Part/0.  # TypeParam = float\\n  Two/1  # GetParam() = a.b\\n'
  printf 'Absent.\\n  Three\\nMixed.\\n  Four\\n  Five\\n' ;;
*=Absent.*) printf '[  PASSED  ] 0 tests.\\n[  SKIPPED ] 1 test, listed below:\\n[  SKIPPED ] Absent.Three\\n' ;;
*=Mixed.*)
  printf '[  PASSED  ] 0 tests.\\n[  SKIPPED ] 1 test, listed below:\\n[  SKIPPED ] Mixed.Four\\n'
  printf '[  FAILED  ] 1 test, listed below:\\n[  FAILED  ] Mixed.Five\\n'; exit 1 ;;
*) echo "$*"; printf '[  PASSED  ] 1 test.\\n' ;;
esac
"""


class RegisterSuites(unittest.TestCase):
    def test_each_suite_is_a_ctest_that_fails_where_one_of_its_tests_does(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            program.write_text(PROGRAM)
            program.chmod(0o755)
            subprocess.run(["cmake", f"-DPROGRAM={program}", "-DFILTER=-Plain.Long*", "-DPROPERTIES=TIMEOUT 60 LABELS a-b",
                            f"-DOUTPUT={folder}/CTestTestfile.cmake", "-P", SCRIPT], check=True)
            done = subprocess.run(["ctest", "-V", "-L", "b"], cwd=folder, capture_output=True, text=True, timeout=60)
        found = dict(re.findall(r"Test +#\d+: (\S+) \.*(?: +|\*+)(\w+)", done.stdout))
        self.assertEqual(found, {"Plain": "Passed", "Types/Part/0": "Passed", "Absent": "Skipped", "Mixed": "Failed"}, done.stdout)
        self.assertIn("--gtest_filter=Types/Part/0.*-Plain.Long*\n", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
