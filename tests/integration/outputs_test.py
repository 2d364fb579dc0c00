#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators with several outputs from the command line to the record, with a plugin that spoils one of two:
outputs_test.py ASSAY TWO_OUTPUTS_PLUGIN."""
import json
import math
import random as randoms
import struct
import sys
import unittest

from dumped_tensors import Base, PLUGIN, normals, safetensors_header, write_npy

CASE = "fused_add_rms_norm/f32/rows=5,n=24/fill=normal/seed=0"


class Outputs(Base):
    def run_case(self, *args, case=CASE):
        done = self.assay("run", "--out", "out", "--progress", "none", "--case", case, "--plugin", PLUGIN, "--backend",
                          "two-outputs", *args)
        records = [json.loads(line) for line in (self.dir / "out/results.jsonl").read_text().splitlines()]
        return done, {r["implementation"]: r for r in records}

    def test_the_worst_output_decides_and_is_named(self):
        done, records = self.run_case("--no-perf")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(records["ok"]["verdict"], "pass", records["ok"]["reason"])
        expected = {"wrong_first": ("mismatch", "y"), "wrong_second": ("mismatch", "residual_out"),
                    "unwritten_first": ("mismatch", "y"), "unwritten_second": ("mismatch", "residual_out"), "sum_first": ("mismatch", "y"),
                    "write_after_second": ("mismatch", "residual_out"), "swapped": ("mismatch", None),
                    "change_input": ("mismatch", None), "other_bits": ("nondeterministic", "residual_out")}
        for name, (verdict, worst) in expected.items():
            with self.subTest(name):
                record = records[name]
                self.assertEqual(record["verdict"], verdict, record["reason"])
                self.assertEqual([o["name"] for o in record["outputs"]], ["y", "residual_out"])
                self.assertEqual([o["in_place"] for o in record["outputs"]], [False, True])
                if worst is not None:
                    self.assertEqual(record["worst_output"], worst, record["reason"])
                    self.assertIn(worst, record["reason"])
        wrong = {o["name"]: o for o in records["wrong_second"]["outputs"]}
        self.assertEqual(wrong["y"]["verdict"], "pass")
        self.assertLessEqual(wrong["y"]["bound_margin"], 1)
        self.assertGreater(wrong["residual_out"]["bound_margin"], 1)
        self.assertEqual(wrong["residual_out"]["bound_margin"], records["wrong_second"]["bound_margin"])
        self.assertIn("of x (an input) were changed", records["change_input"]["reason"])
        self.assertIn("residual_out", self.assay("report", "out").stdout)

    def test_failures_are_kept_and_judged_alike(self):
        _, records = self.run_case("--no-perf", "--impl", "wrong_second,swapped")
        folder = self.dir / "out" / records["wrong_second"]["failure_dir"]
        planes = safetensors_header(folder / "golden.safetensors")
        self.assertTrue({"y.value", "residual_out.value", "y.error"} <= set(planes))
        got = safetensors_header(sorted(folder.glob("got-two_outputs-wrong_second*"))[0])
        self.assertEqual(set(got) - {"__metadata__"}, {"y", "y.bound", "y.rounding", "residual_out", "residual_out.bound", "residual_out.rounding"})
        text = (folder / "reproduce.txt").read_text()
        lines = [line for line in text.splitlines() if " check " in line and "#" not in line]
        self.assertTrue(lines)
        for line in lines:
            again = self.shell(line + " --json", cwd=folder)
            self.assertEqual(again.returncode, 1, again.stderr)
            record = json.loads(again.stdout)
            if "wrong_second" in line:
                self.assertEqual(record["worst_output"], "residual_out")
        runs = [line for line in text.splitlines() if " run " in line and not line.startswith("#")]
        self.assertEqual(self.shell(runs[0] + " --out again", cwd=self.dir).returncode, 1)

    def test_a_timed_loop_renews_what_is_overwritten(self):
        done, records = self.run_case("--perf-time", "0.05", "--impl", "ok")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(records["ok"]["time_median_s"], 0)
        self.assertEqual(records["ok"]["timing_invalid"], "")
        self.assertIn("seed=1", records["ok"]["second_set"])

    def test_runs_compare_output_by_output(self):
        for out in ("a", "b"):
            self.run_case("--no-perf", "--impl", "ok")
            (self.dir / "out").rename(self.dir / out)
        done = self.assay("compare", "a", "b")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        path = self.dir / "b/results.jsonl"
        record = json.loads(path.read_text())
        for output in record["outputs"]:
            output["bound_margin"] = 0.9 if output["name"] == "residual_out" else output["bound_margin"]
        path.write_text(json.dumps(record) + "\n")
        done = self.assay("compare", "a", "b")
        self.assertIn("residual_out.bound_margin", done.stdout)

    def test_the_host_passes_with_all_outputs(self):
        for out, case in (("fused", CASE), ("stats", "layer_norm/bf16/rows=6,n=40,stats=1/fill=normal/seed=0"),
                          ("backward", "layer_norm_backward/f32/rows=9,n=17/fill=normal/seed=0")):
            done = self.assay("run", "--out", out, "--progress", "none", "--case", case, "--backend", "cpu",
                              "--perf-time", "0.02")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_goldens_of_each_output_are_kept(self):
        case = "layer_norm/f32/rows=3,n=9,stats=1/fill=normal/seed=0"
        self.assertEqual(self.assay("golden", "build", "--case", case).returncode, 0)
        listed = json.loads(self.assay("golden", "list", "--json").stdout)
        self.assertEqual(sorted(row.get("output", "") for row in listed), ["", "mean", "rstd"])
        self.assertEqual(self.assay("golden", "verify", "--recompute").returncode, 0)
        self.assertEqual(self.assay("golden", "export", "--case", case, "--output", "mean", "--out", "m.npy").returncode, 0)
        refused = self.assay("golden", "export", "--case", case, "--output", "dx", "--out", "m.npy")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("y, mean, rstd", refused.stderr)


class CheckOutputs(Base):
    """assay check of x, gamma and beta, and of y, mean and rstd as layer_norm has them."""
    ROWS, N = 4, 12

    def setUp(self):
        super().setUp()
        random = randoms.Random(5)
        x = normals(random, self.ROWS * self.N)
        gamma, beta = normals(random, self.N), normals(random, self.N)
        self.y, self.mean, self.rstd = [], [], []
        for row in range(self.ROWS):
            line = x[row * self.N:(row + 1) * self.N]
            mean = math.fsum(line) / self.N
            rstd = 1 / math.sqrt(math.fsum((v - mean) ** 2 for v in line) / self.N + 1e-5)
            self.mean.append(mean)
            self.rstd.append(rstd)
            self.y += [(v - mean) * rstd * g + b for v, g, b in zip(line, gamma, beta)]
        for name, shape, values in (("x", (self.ROWS, self.N), x), ("gamma", (self.N,), gamma), ("beta", (self.N,), beta),
                                    ("y", (self.ROWS, self.N), self.y), ("mean", (self.ROWS,), self.mean),
                                    ("rstd", (self.ROWS,), self.rstd)):
            write_npy(self.dir / f"{name}.npy", "f4", shape, values)

    def check(self, *args, outputs=("y", "mean", "rstd"), stats=True):
        words = [w for name in ("x", "gamma", "beta") for w in ("--input", f"{name}={name}.npy")]
        words += [w for name in outputs for w in ("--output", f"{name}={name}.npy")]
        return self.assay("check", "--op", "layer_norm", *words, *(("--attr", "stats=1") if stats else ()), *args)

    def test_each_is_judged(self):
        done = self.check("--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([o["name"] for o in json.loads(done.stdout)["outputs"]], ["y", "mean", "rstd"])
        write_npy(self.dir / "mean.npy", "f4", (self.ROWS,), self.mean[:-1] + [self.mean[-1] + 0.01])
        done = self.check("--json")
        self.assertEqual(done.returncode, 1, done.stdout)
        record = json.loads(done.stdout)
        self.assertEqual(record["worst_output"], "mean")
        self.assertIn("output mean: ", record["reason"])
        text = self.check().stdout
        self.assertIn("of the worst, mean:", text)
        self.assertRegex(text, r"(?m)^  y +pass")

    def test_golden_values_of_all_go_into_one_file(self):
        done = self.check("--write-golden", "g.safetensors")
        self.assertEqual(done.returncode, 0, done.stderr)
        header = safetensors_header(self.dir / "g.safetensors")
        self.assertEqual(header["mean"]["shape"], [self.ROWS])
        begin, end = header["mean"]["data_offsets"]
        data = (self.dir / "g.safetensors").read_bytes()
        body = data[8 + struct.unpack("<Q", data[:8])[0]:]
        for got, expected in zip(struct.unpack(f"<{self.ROWS}d", body[begin:end]), self.mean):
            self.assertAlmostEqual(got, expected, places=6)
        refused = self.check("--write-golden", "g.npy")
        self.assertEqual(refused.returncode, 2)
        self.assertIn(".safetensors", refused.stderr)
        self.assertEqual(self.check("--write-golden", "y_only.npy", outputs=("y",), stats=False).returncode, 0)

    def test_what_is_missing_or_too_much_is_said(self):
        for args, text in (({"outputs": ("y", "mean")}, "also needs --output rstd=FILE"),
                           ({"stats": False}, "takes x, gamma, beta, y, not 'mean'"),
                           ({"outputs": ("mean", "rstd")}, "needs --output y=FILE"),
                           ({"outputs": ("y", "y", "mean", "rstd")}, "--output gives 'y' twice")):
            done = self.check(**args)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(text, done.stderr)
        done = self.check("--input", "mean=mean.npy")
        self.assertIn("no input 'mean'; it takes", done.stderr)
        self.assertIn("y, mean, rstd are the outputs", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
