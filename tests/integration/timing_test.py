#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statements of a run about time: timing_test.py ASSAY MISBEHAVING_PLUGIN NO_ENTRY OTHER_MAJOR. No duration is compared
with a constant: a machine may be as slow as it likes.
"""
import json
import sys
import unittest

from program import CASE, Cli, PLUGIN


class Protocol(Cli):
    def check_times(self, r):
        self.assertIn(r["stop_reason"], ("settled", "time limit", "repetitions"))
        self.assertGreater(r["time_median_s"], 0)
        self.assertGreater(r["time_wall_s"], 0)
        for way in ("upload", "download"):
            self.assertGreater(r[f"{way}_s"], 0)
            self.assertGreater(r[f"{way}_gbytes_per_s"], 0)
        if r["time_cold_median_s"] is None:
            self.assertTrue(r["cold_note"])
            self.assertIsNone(r["cold_samples"])
        else:
            self.assertEqual(r["cold_note"], "")
            self.assertGreater(r["time_cold_median_s"], 0)
            self.assertGreaterEqual(r["cold_samples"], 2)

    def test_cold_and_warm_times_of_every_backend(self):
        done, records = self.run_cases("--case", CASE, "--perf-time", "0.01", "--cold", "--relations", "none")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        timed = [r for r in records if r["verdict"] != "unavailable"]
        self.assertIn("cpu", {r["backend"] for r in timed})
        for r in timed:
            self.check_times(r)
            self.assertIsNotNone(r["time_cold_median_s"], r["backend"])

    def test_cold_times_are_null_with_a_reason_where_there_are_none(self):
        _, records = self.run_cases("--case", CASE, "--backend", "cpu", "--perf-time", "0.01", out="without")
        for r in records:
            self.check_times(r)
            self.assertIn("--cold", r["cold_note"])
        self.env["ASSAY_MISBEHAVE"] = "no_timer"
        _, records = self.run_cases("--case", CASE, "--plugin", PLUGIN, "--backend", "misbehaving", "--impl", "ok",
                                    "--perf-time", "0.01", "--cold")
        self.check_times(records[0])
        self.assertIn("no way to flush", records[0]["cold_note"])
        self.assertEqual(records[0]["timing_clock"], "host")


    def test_no_perf_refuses_what_needs_times(self):
        for given in (["--rounds", "3"], ["--rounds", "1"], ["--roofline"], ["--cold"], ["--perf-time", "0.01"],
                      ["--launch-us", "3"], ["--sweep", "m=1,2"], ["--ceilings", "x"]):
            done = self.assay("run", "--case", CASE, "--backend", "cpu", "--no-perf", *given, "--out", "out")
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(f"--no-perf times nothing, and {given[0]} needs times: leave out one", done.stderr)
            self.assertFalse((self.dir / "out").exists())
        for kept in (["--no-cold"], ["--no-roofline"]):
            done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--no-perf", *kept, out=kept[0].strip("-"))
            self.assertEqual(done.returncode, 0, done.stderr)


class Roofline(Cli):
    def test_ceilings_are_measured_once_and_kept(self):
        done, records = self.run_cases("--suite", "smoke", "--filter", "matmul/*m=16,*:matmul/*m=17,*:softmax/*2x128x128*", "--dtype",
                                       "f32,bf16", "--backend", "cpu,onednn", "--perf-time", "0.005", "--cold", "--roofline")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ceilings = json.loads((self.dir / "out/ceilings.json").read_text())
        self.assertEqual(ceilings["given_up"], [])
        self.assertEqual({m["hardware"] for m in ceilings["memory"]}, {"host"})
        # oneDNN multiplies bf16 from AVX-512 on.
        multiplied = {(r["dtype"].split("-")[0], r["backend"]) for r in records
                      if r["op"] == "matmul" and r["verdict"] == "pass"}
        self.assertLessEqual({("f32", "cpu"), ("bf16", "cpu"), ("f32", "onednn")}, multiplied)
        own = [c["dtype"] for c in ceilings["compute"] if c["origin"] == "assay"]  # x86-64 from AVX2 on
        self.assertIn(own, ([], ["f32", "f64"]))
        self.assertEqual({(c["dtype"], c["backend"]) for c in ceilings["compute"] if c["origin"] == "backend"},
                         {m for m in multiplied if m[0] not in own})
        self.assertEqual({launch["selector"] for launch in ceilings["launch"]}, {"cpu", "onednn"})
        bandwidth = max(m["gbytes_per_s"] for m in ceilings["memory"])
        others = {(d, b): [c["gflops"] for c in ceilings["compute"] if c["dtype"] == d and c.get("backend") != b]
                  for d in ("f32", "bf16") for b in ("cpu", "onednn")}
        alone = {c["dtype"]: c["gflops"] for c in ceilings["compute"]}
        timed = [r for r in records if r["time_median_s"]]
        self.assertTrue(timed)
        for r in timed:
            self.assertEqual(r["ceiling_gbytes_per_s"], bandwidth)
            key = r["dtype"].split("-")[0], r["backend"]
            self.assertEqual(r["ceiling_gflops"], max(others[key], default=alone[key[0]]))
            itself = "the only witness of the compute rate is this backend itself"
            self.assertEqual(r["roofline_note"] == itself, not others[key])
            self.assertAlmostEqual(r["roofline_fraction"], max(r["memory_fraction"], r["compute_fraction"]))
            self.assertAlmostEqual(r["memory_fraction"],
                                   r["bytes"] / bandwidth * 1e-9 / r["time_cold_median_s"], delta=1e-6)
            balance = r["flops"] / r["ceiling_gflops"] - r["bytes"] / r["ceiling_gbytes_per_s"]
            self.assertEqual(r["bound_by"], "compute" if balance > 0 else "memory")
            self.assertEqual(r["timing_invalid"], "")  # none of these has more data than four caches hold
            self.assertTrue(0 < r["launch_fraction"] <= 1)
        environment = json.loads((self.dir / "out/environment.json").read_text())
        self.assertEqual(set(environment["machine_before"]), set(environment["machine_after"]))
        self.assertIn("### Limits", (self.dir / "out/summary.md").read_text())
        entry = json.loads((self.dir / "out/benchmark.json").read_text())["benchmarks"][0]
        self.assertLessEqual({"cold_ns", "wall_ns", "roofline_fraction", "launch_fraction"}, set(entry))

    def test_times_that_a_data_sheet_rules_out_count_nowhere(self):
        sheet = self.dir / "sheet.toml"
        sheet.write_text('[[device]]\nname = "host"\ngflops.f32 = 1e-6\ngbytes_per_s = 1e6\n[[device]]\nname = "GPU"\ngbytes_per_s = 9\n')
        run = ("--case", CASE, "--backend", "cpu", "--impl", "naive", "--perf-time", "0.005")
        done, records = self.run_cases(*run, "--ceilings", "sheet.toml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("unused for 'GPU' (sheet.toml:5)", done.stderr)
        self.assertIn("1 pass; 1 time cannot be true", done.stdout)
        for r in records:
            self.assertIn("times the compute rate of 1e-06 GFLOP/s (data sheet: sheet.toml:1)", r["timing_invalid"])
            self.assertIsNone(r["gflops"])
            self.assertIsNone(r["roofline_fraction"])
            self.assertGreater(r["time_median_s"], 0)
        ceilings = json.loads((self.dir / "out/ceilings.json").read_text())
        self.assertEqual([c["gflops"] for c in ceilings["compute"] if c["origin"] == "data sheet"], [1e-6])
        benchmark = json.loads((self.dir / "out/benchmark.json").read_text())
        self.assertEqual(benchmark["benchmarks"], [])
        self.assertIn("data sheet", benchmark["context"]["assay_excluded"][0])
        for page in ("report.html", "summary.md", "junit.xml"):
            self.assertIn("cannot be true", (self.dir / "out" / page).read_text())
        self.assertEqual(self.assay("report", "out").returncode, 0)
        self.assertEqual(self.assay("report", "out", "--strict").returncode, 1)
        self.assertEqual(self.run_cases(*run, "--ceilings", "sheet.toml", "--strict", out="strict")[0].returncode, 1)
        self.assertEqual(self.run_cases(*run, out="valid")[0].returncode, 0)
        for base, now in (("out", "valid"), ("valid", "out")):
            done = self.assay("compare", base, now)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("1 result with a time that cannot be true: INVALID", done.stdout)
            self.assertEqual(self.assay("compare", base, now, "--strict").returncode, 1)
        self.assertEqual(self.assay("compare", "valid", "valid", "--strict").returncode, 0)

    def test_a_data_sheet_that_cannot_be_read_ends_the_run_before_it_begins(self):
        (self.dir / "sheet.toml").write_text('[[device]]\nname = "host"\ngflops.f23 = 1\n')
        run = ("run", "--case", CASE, "--backend", "cpu")
        self.fails(2, "sheet.toml:3:8: no key 'f23'; known: f64, f32", *run, "--ceilings", "sheet.toml")
        self.fails(2, "none.toml", *run, "--ceilings", "none.toml")
        self.fails(2, "leave out one of it and --ceilings", *run, "--ceilings", "sheet.toml", "--no-roofline")

    def test_without_it_nothing_is_measured(self):
        _, records = self.run_cases("--case", CASE, "--backend", "cpu", "--perf-time", "0.005")
        self.assertFalse((self.dir / "out/ceilings.json").exists())
        for r in records:
            self.assertIsNone(r["roofline_fraction"])
            self.assertEqual(r["bound_by"], "")
        done, _ = self.run_cases("--case", CASE, "--backend", "cpu", "--impl", "naive", "--perf-time", "0.005",
                                 "--launch-us", "cpux=3", out="other")
        self.assertIn("--launch-us: unused for cpux; the backends of this run are cpu", done.stderr)
        self.assertNotIn("launch_us", json.loads((self.dir / "other/environment.json").read_text()))
        self.assertNotIn("Times were believed", (self.dir / "other/summary.md").read_text())
        self.fails(2, "'short' is not a number of microseconds", "run", "--case", CASE, "--launch-us", "short")

    def test_a_plugin_that_dies_while_it_is_measured_loses_no_record(self):
        plugin = ("--plugin", PLUGIN, "--backend", "misbehaving")
        # "ok" alone can be timed; the ceilings try what else there is as well, since nothing is selected.
        (self.dir / "sheet.toml").write_text('[[device]]\nname = "host"\ngbytes_per_s = 9\n')
        done, records = self.run_cases("--case", CASE, *plugin, "--perf-time", "0.002", "--timeout", "1", "--ceilings", "sheet.toml",
                                       "--relations", "none", "--retries", "0")
        ok = next(r for r in records if r["implementation"] == "ok")
        self.assertEqual(ok["verdict"], "pass", done.stderr)
        self.assertGreater(ok["time_median_s"], 0)
        ceilings = json.loads((self.dir / "out/ceilings.json").read_text())
        self.assertEqual([g["selector"] for g in ceilings["given_up"]], ["misbehaving"])


class Sweep(Cli):
    def test_a_sweep_runs_every_size_and_shows_it(self):
        case = "matmul/f32/m=1,n=64,k=64/fill=normal/seed=0"
        (self.dir / "sheet.toml").write_text('[[device]]\nname = "host"\ngbytes_per_s = 9\n')  # is quicker than to measure it
        done, records = self.run_cases("--case", case, "--ceilings", "sheet.toml", "--sweep", "m=1..16*4", "--backend", "cpu", "--impl", "naive",
                                       "--perf-time", "0.005")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([r["sweep"] for r in records], ["m=1", "m=4", "m=16"])
        self.assertEqual([r["case_id"] for r in records], [case.replace("m=1", f"m={m}") for m in (1, 4, 16)])
        self.assertTrue(all(r["time_cold_median_s"] for r in records))
        self.assertTrue((self.dir / "out/ceilings.json").exists())
        sweep, = self.page_data()["sweeps"]
        self.assertEqual([point["value"] for point in sweep["curves"][0]["points"]], [1, 4, 16])
        advice = [line for line in done.stdout.splitlines() if line.startswith("  cpu: ")]
        self.assertTrue(advice, done.stdout)
        again = self.assay("report", "out")
        self.assertEqual([line for line in again.stdout.splitlines() if line.startswith("  cpu: ")], advice)

    def test_it_says_what_cannot_be_swept(self):
        self.fails(2, "--sweep: name the case", "run", "--suite", "smoke", "--sweep", "m=1..4")
        self.fails(2, "matmul has no attribute 'b'", "run", "--case", CASE, "--sweep", "b=1..4")
        self.fails(2, "KEY=1..256", "run", "--case", CASE, "--sweep", "m=4..1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
