# SPDX-License-Identifier: Apache-2.0
"""A written kernel beside a reference: judge_test.py ASSAY [CLASS]."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from full import FULL

ASSAY = sys.argv.pop(1)
CANDIDATES = pathlib.Path(__file__).resolve().parent / "candidates"
sys.path.insert(0, str(CANDIDATES))
from cheats import CHEATS, HEAD  # noqa: E402

VISIBLE = ("softmax/f32/shape=64x256/fill=normal/seed=0", "softmax/f32/shape=32x48/fill=normal/seed=0")
HIDDEN = 8 if FULL else 4
QUICK = ("--case", VISIBLE[0], "--case", VISIBLE[1], "--hidden", str(HIDDEN), "--rounds", "2", "--perf-time", "0.005",
         "--timed", "1", "--relations", "none")
RIGHT = """
@candidate
def mine(x, *, axis, log):
    return right(x, axis, log)
"""


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "files").mkdir()
        self.reference = self.dir / "files/reference.py"
        shutil.copy(CANDIDATES / "reference.py", self.reference)

    def write(self, body, name="candidate.py"):
        path = self.dir / "files" / name
        path.write_text(HEAD + body.replace("PATH", repr(str(self.reference))))
        return path

    def run_judge(self, candidate, *args):
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables["ASSAY_GOLDEN_STORE"] = str(self.dir / "store")
        return subprocess.run([ASSAY, "judge", str(candidate), "--against", str(self.reference), "--python",
                               sys.executable, "--progress", "none", *args],
                              cwd=self.dir, env=variables, capture_output=True, text=True, timeout=280)

    def judge(self, candidate, *args):
        done = self.run_judge(candidate, "--json", *args)
        said = json.loads(done.stdout)  # one object, and nothing else
        self.assertEqual(said["exit_code"], done.returncode, done.stderr)
        return said


DEFINED = """
import assay

@assay.operator("leaky_bias", types=["f32", "f64"], roles={"bias": "offset"})
def leaky_bias(x: "rows n", bias: "n", *, slope: float = 0.125):
    return assay.namespace(x).maximum(x, slope * x) + bias
"""
LEAKY = """
import assay, numpy as np

@assay.kernel("leaky_bias", contract="f32acc", dtypes=["f32"])
def mine(x, bias, *, slope):
    return np.where(x > 0, x, np.float32(FACTOR) * x) + bias
"""


class WithoutReference(Program):
    def judge_alone(self, factor, *words, code):
        (self.dir / "files/ops.py").write_text(DEFINED)
        (self.dir / "files/mine.py").write_text(LEAKY.replace("FACTOR", factor))
        variables = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "ASSAY_LIBRARY")}
        variables["ASSAY_GOLDEN_STORE"] = str(self.dir / "store")
        done = subprocess.run([ASSAY, "judge", "files/mine.py", "--python", sys.executable, "--progress", "none", "--hidden", "6",
                               *words], cwd=self.dir, env=variables, capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout) if "--json" in words else done.stdout + done.stderr

    def test_a_definition_alone_says_what_is_right(self):
        words = ("--operators", "files/ops.py", "--json")
        said = self.judge_alone("slope", *words, "--dtype", "f32", code=0)
        visible, hidden = said["correctness"]["visible"], said["correctness"]["hidden"]
        self.assertGreater(visible["passed"], 0)
        self.assertEqual(visible["passed"] + visible["inconclusive"], visible["cases"])
        self.assertEqual((hidden["failed"], hidden["disputed"], hidden["not_run"]), (0, 0, 0))
        self.assertEqual(hidden["cases"], visible["cases"] + 6)
        self.assertEqual((said["speed"]["verdict"], said["speed"]["ratio"]), ("not timed", None))
        self.assertIn("there is no reference", said["speed"]["why"])
        self.assertEqual(said["reference"]["file"], "")
        again = subprocess.run(said["again"].replace("assay ", ASSAY + " ", 1) if said["again"].startswith("assay ") else said["again"],
                               shell=True, cwd=self.dir, capture_output=True, text=True, timeout=280)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        said = self.judge_alone("slope * 1.001", *words, "--dtype", "f32", code=1)
        self.assertEqual(said["first_failure"]["what"], "mismatch")
        said = self.judge_alone("slope", *words, code=1)  # f64 is part of the task
        self.assertEqual(said["first_failure"]["what"], "unsupported")
        self.assertIn("it is declared for f32", said["first_failure"]["reason"])

    def test_what_the_task_is_has_to_be_said(self):
        self.assertIn("nothing says what the candidate is to compute", self.judge_alone("slope", code=2))
        self.assertIn("unknown operator", self.judge_alone("slope", "--op", "leaky_bias", code=2))
        self.assertIn("--op rms_norm: none of the", self.judge_alone("slope", "--op", "softmax,rms_norm", "--suite", "smoke", code=2))
        said = self.judge_alone("slope", "--operators", "files/ops.py", "--case",
                                "softmax/f32/shape=4x8/fill=normal/seed=0", "--json", code=1)
        self.assertEqual(said["first_failure"]["what"], "unsupported")


class Accepted(Program):
    def test_a_right_one_with_its_speed(self):
        said = self.judge(self.write(RIGHT), *QUICK, "--launch-us", "candidate=400", "--out", "run")
        self.assertEqual((said["verdict"], said["exit_code"]), ("accepted", 0), said["explanation"])
        self.assertIn("--launch-us candidate=400", said["again"])
        done = self.run_judge(self.dir / "files/candidate.py", "--launch-us", "mine=400")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--launch-us: unused for mine; the backends of this run are candidate, reference", done.stderr)
        self.assertEqual(json.loads((self.dir / "run/environment.json").read_text())["launch_us"], "candidate=400")
        visible, hidden = said["correctness"]["visible"], said["correctness"]["hidden"]
        self.assertEqual((visible["cases"], visible["passed"]), (2, 2))
        self.assertEqual(hidden["cases"], HIDDEN + 2)
        self.assertEqual(hidden["passed"] + hidden["disputed"] + hidden["inconclusive"], HIDDEN + 2)
        self.assertIsNone(said["first_failure"])
        speed = said["speed"]
        self.assertGreater(speed["ratio"], 0)
        self.assertGreater(speed["wall_ratio"], 0)
        if speed["wall_low"] is not None:
            self.assertLessEqual(speed["wall_low"], speed["wall_ratio"])
            self.assertLessEqual(speed["wall_ratio"], speed["wall_high"])
        self.assertEqual(hidden["undrawn"], 0)
        self.assertEqual(len(speed["cases"]), 1)
        self.assertRegex(speed["cases"][0]["case_id"], r"softmax/f32/shape=64x256/fill=normal/seed=\d{3,}$")
        for side, file in (("candidate", "candidate.py"), ("reference", "reference.py")):
            content = (self.dir / "files" / file).read_bytes()
            self.assertEqual(said[side]["sha256"], hashlib.sha256(content).hexdigest())
            self.assertIn("numpy", said[side]["library_version"])

        self.compare_seeds(said)

    def compare_seeds(self, first):
        """The seed that is told gives the same hidden cases; here also several implementations, and text."""
        again = self.judge(self.write(RIGHT), *QUICK, "--no-perf", "--out", "again", "--hidden-seed", str(first["hidden_seed"]))
        self.assertTrue(first["hidden_seed_drawn"])
        self.assertFalse(again["hidden_seed_drawn"])
        done = self.run_judge(self.write(RIGHT + RIGHT.replace("mine", "other")), *QUICK, "--out", "other")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?s)^accepted: 2 of 2 visible cases pass; .*speed: .* times as fast as the reference")
        self.assertIn("--hidden-seed", done.stdout)
        ids = [[e["id"] for e in json.loads((self.dir / name / "plan.json").read_text())["cases"]]
               for name in ("run", "again", "other")]
        self.assertEqual(ids[0], ids[1])
        self.assertEqual(ids[0][:2], ids[2][:2])
        self.assertFalse(set(ids[0][2:]) & set(ids[2][2:]))
        self.assertIsNone(again["speed"]["ratio"])
        self.assertIn("--no-perf", again["speed"]["why"])

    def test_hidden_cases_that_the_reference_does_not_take_are_counted(self):
        narrow = self.reference.read_text().replace(
            'dtypes=["f32"]', 'dtypes=["f32"], supports=lambda case: case.shapes["x"] == (64, 256) or "another shape"')
        self.reference.write_text(narrow)
        quick = ("--case", VISIBLE[0], "--hidden", "8", "--no-perf", "--relations", "none")
        said = self.judge(self.write(RIGHT), *quick)
        self.assertEqual(said["verdict"], "accepted", said["explanation"])
        hidden = said["correctness"]["hidden"]
        self.assertEqual(hidden["cases"] + hidden["undrawn"], 9)  # the visible one with other data is one of them
        self.assertGreaterEqual(hidden["undrawn"], 6)
        self.assertIn(f"{hidden['undrawn']} hidden cases are missing", self.run_judge(self.write(RIGHT), *quick).stdout)


class Cheats(Program):
    def test_each_is_rejected_by_what_finds_it(self):
        before = self.reference.read_bytes()
        for name, (body, what, reason) in CHEATS.items():
            with self.subTest(name):
                said = self.judge(self.write(body), *QUICK)
                self.assertEqual((said["verdict"], said["exit_code"]), ("rejected", 1), said["explanation"])
                kinds = {failure["what"] for failure in said["failures"]}
                if what:
                    self.assertIn(what, kinds, said["explanation"])
                    self.assertIn(reason, " ".join(f["reason"] for f in said["failures"] if f["what"] == what))
                self.assertEqual(self.reference.read_bytes(), before)
                self.assertTrue(said["explanation"].strip())

    def test_what_only_knows_the_visible_shapes_passes_those(self):
        said = self.judge(self.write(CHEATS["right on the visible shapes alone"][0]), *QUICK)
        self.assertEqual(said["correctness"]["visible"]["failed"], 0, said["explanation"])
        self.assertEqual(said["first_failure"]["set"], "hidden")
        self.assertIn("Every visible case passes", said["explanation"])
        line = said["first_failure"]["reproduce"]
        self.assertIn(said["first_failure"]["case_id"], line)
        again = subprocess.run(line, shell=True, cwd=self.dir, capture_output=True, text=True, timeout=280)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)

    def test_one_that_hangs(self):
        for body in ("@candidate\ndef kernel(x, *, axis, log):\n    time.sleep(1000)\n", "time.sleep(1000)\n"):
            said = self.judge(self.write(body), "--case", VISIBLE[0], "--hidden", "0", "--timeout", "10",
                              "--import-timeout", "10", "--no-perf")
            self.assertEqual(said["verdict"], "rejected", said["explanation"])
            self.assertRegex(said["reason"], "did not|within 10 s|hang")


class NotJudged(Program):
    def test_a_reference_that_cannot_be_used(self):
        self.reference.write_text("raise RuntimeError('not today')\n")
        said = self.judge(self.write(RIGHT), *QUICK)
        self.assertEqual((said["verdict"], said["exit_code"]), ("error", 3))
        self.assertIn("not today", said["reason"])

    def test_a_reference_that_is_wrong_holds_nothing_against_the_candidate(self):
        self.reference.write_text(HEAD + CHEATS["a constant"][0])
        said = self.judge(self.write(RIGHT), "--case", VISIBLE[0], "--case", VISIBLE[1], "--hidden", "2", "--no-perf", "--relations", "none")
        self.assertEqual((said["verdict"], said["exit_code"]), ("error", 3), said["explanation"])
        self.assertEqual(said["correctness"]["visible"]["disputed"], 2)

    def test_a_reference_that_takes_none_of_the_cases(self):
        said = self.judge(self.write(RIGHT), "--case", "exp/f32/n=16/fill=normal/seed=0")
        self.assertEqual((said["verdict"], said["exit_code"]), ("error", 3))
        self.assertIn("takes no case", said["reason"])

    def test_usage(self):
        for args, said in ((("--rounds", "1"), "--rounds"), (("--suite", "nowhere"), "nowhere"),
                           (("--case", "softmax"), "--case")):
            done = self.run_judge(self.write(RIGHT), *args)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, "")
        done = self.run_judge(self.dir / "absent.py", "--json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("absent.py", done.stderr)


if __name__ == "__main__":
    unittest.main()
