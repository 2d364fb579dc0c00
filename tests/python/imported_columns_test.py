#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX that are imported and run on ONNX Runtime, as the guide of imports has it: imported_columns_test.py ASSAY [CLASS],
by an interpreter with onnx and onnxruntime."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
GUIDE = pathlib.Path(__file__).parents[2] / "harness/tools/import/README.md"


class Imported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        script = re.search(r"```python\n# make_block.py\n(.*?)```", GUIDE.read_text(), re.S)[1]
        subprocess.run([sys.executable, "-c", script], cwd=self.dir, check=True)
        self.assay(0, "import", "onnx", "block.onnx", "-o", "block.suite", "--python", sys.executable)

    def assay(self, code, *words):
        done = subprocess.run([PROGRAM, *words], cwd=self.dir, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def run_block(self, code):
        self.assay(code, "run", "--operators", "block.json", "--suite", "block.suite", "--framework", "onnxruntime", "--backend", "onnxruntime",
                   "--python", sys.executable, "--no-perf", "--progress", "none", "--out", f"out{code}")
        return [json.loads(line)["verdict"] for line in (self.dir / f"out{code}/results.jsonl").read_text().splitlines()]

    def test_the_model_is_judged_by_its_definition(self):
        self.assertEqual(self.run_block(0), ["pass", "pass"])

    def test_another_formula_is_not_what_the_model_computes(self):
        path = self.dir / "block.json"
        defined = json.loads(path.read_text())
        node = next(one for one in defined["operators"][0]["nodes"] if one["f"] == "log1p")
        node["f"] = "exp"
        path.write_text(json.dumps(defined))
        self.assertEqual(self.run_block(1), ["mismatch", "mismatch"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
