#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The failure folders of a run: failure_folder_test.py ASSAY PLUGIN."""
import json
import shutil
import sys
import unittest

from dumped_tensors import ASSAY, Base, PLUGIN, safetensors_header
from own_folder import rule


class FailureFolder(Base):
    def run_case(self, case, *args, program=ASSAY):
        done = self.assay("run", "--out", "out", "--progress", "none", "--case", case, *args, program=program)
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        return done, {r["implementation"]: r for r in records}

    def lines(self, record):
        text = (self.dir / "out" / record["failure_dir"] / "reproduce.txt").read_text()
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return text, [l for l in lines if " run " in l], [l for l in lines if " check " in l]

    def test_holds_the_tensors_and_is_judged_alike(self):
        case = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
        _, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl",
                                   "ok,nan_result,drop_last_k,liar,nondeterministic,stale,write_after,rounds_up,wrong_later",
                                   "--perf-time", "0.02")
        self.assertEqual(records["ok"]["failure_dir"], "")
        folder = self.dir / "out" / records["nan_result"]["failure_dir"]
        self.assertRegex(records["nan_result"]["failure_dir"], "^failures/[0-9a-f]{16}$")
        self.assertEqual(set(safetensors_header(folder / "inputs.safetensors")) - {"__metadata__"}, {"a", "b"})
        planes = safetensors_header(folder / "golden.safetensors")
        self.assertEqual(set(planes) - {"__metadata__"}, {"value", "magnitude", "sigma", "error"})
        self.assertEqual(planes["value"]["shape"], [17, 9])
        text, runs, checks = self.lines(records["nan_result"])
        self.assertIn(case, text)
        for name, record in records.items():
            if name == "ok":
                continue
            with self.subTest(name):
                self.assertIn(record["reproduce"], runs)
                self.assertIn(record["reason"].split("\n")[0][:40], text)
                # The output file of an implementation, and the line that judges it.
                mine = [line for line in checks if f"got-misbehaving-{name}" in line]
                self.assertTrue(mine)
                results = [self.shell(line + " --json", cwd=folder) for line in mine]
                for result in results:
                    self.assertIn(result.returncode, (0, 1), result.stderr)
                if record["verdict"] == "mismatch" and name not in ("write_after", "rounds_up"):
                    self.assertIn(1, [result.returncode for result in results], record["reason"])
                said = [line for line in text.splitlines() if line.startswith(f"# got-misbehaving-{name}")]
                self.assertEqual(len(said), len(mine))
                for line, result in zip(said, results):
                    self.assertEqual("its numbers hold" in line, result.returncode == 0, line)
        self.assertIn("its numbers hold", text)  # of those whose bits changed
        one = sorted(folder.glob("got-misbehaving-nan_result*"))[0]
        got = safetensors_header(one)
        self.assertEqual(got["__metadata__"]["verdict"], "mismatch")
        for name in ("y", "bound", "rounding"):
            self.assertEqual(got[name]["shape"], [17, 9])

    def test_its_lines_can_be_pasted_where_the_program_has_a_space_in_its_path(self):
        case = "matmul/f32/m=5,n=3,k=4/fill=normal/seed=0"
        for place in ("a folder/assay", "assay"):
            with self.subTest(place):
                _, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "nan_result",
                                           "--no-perf", program=self.copy_program(place))
                _, runs, checks = self.lines(records["nan_result"])
                self.assertTrue(runs and checks)
                # The run is archived, in a folder that has a space in its name too.
                archived = self.dir / "an archive"
                (self.dir / "out").rename(archived)
                folder = archived / records["nan_result"]["failure_dir"]
                for line in checks:
                    self.assertNotIn(str(self.dir / "out"), line)
                    self.assertEqual(self.shell(line, cwd=folder).returncode, 1, line)
                for line in runs:
                    again = self.shell(line + " --out again", cwd=folder)
                    self.assertEqual(again.returncode, 1, line + again.stderr)
                shutil.rmtree(archived)

    def test_the_same_numbers_come_out(self):
        case = "matmul/f32/m=16,n=16,k=64/fill=normal/seed=1"
        _, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "cpu", "--impl", "naive", "--no-perf",
                                   "--contract", "f64")
        record = records["naive"]
        self.assertEqual(record["verdict"], "below_contract")
        _, runs, checks = self.lines(record)
        self.assertEqual((len(runs), len(checks)), (1, 1))
        folder = self.dir / "out" / record["failure_dir"]
        judged = json.loads(self.shell(checks[0] + " --json", cwd=folder).stdout)
        for key in ("bound_margin", "max_abs_err", "max_ulp_err", "rms_err", "nmse", "worst_elements", "output_hash",
                    "input_hash", "golden_hash", "contract", "tier", "dtype", "verdict", "class", "required_contract"):
            self.assertEqual(judged[key], record[key], key)
        self.assertEqual(judged["reason"].replace("--contract declares", "the implementation declares"), record["reason"])
        self.assertEqual(self.shell(checks[0], cwd=folder).returncode, 1)
        again = self.shell(runs[0] + " --out again --progress none --no-perf")
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_a_known_failure_gets_no_folder(self):
        (self.dir / "rules.toml").write_text(rule("misbehaving", case="matmul/*", implementation="nan_result"))
        case = "matmul/f32/m=17,n=9,k=64/fill=normal/seed=0"
        done, records = self.run_case(case, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "nan_result",
                                      "--no-perf", "--expectations", "rules.toml")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(records["nan_result"]["failure_dir"], "")
        self.assertFalse((self.dir / "out/failures").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
